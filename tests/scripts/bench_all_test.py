#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What bench/all keeps of runs and says of them, and what benchmarks say of a program that is not built: no program is started."""
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import time
import unittest
from unittest import mock
from xml.etree import ElementTree

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "bench"))
import programs  # noqa: E402
from headline import chart, figures, kept, long_texts  # noqa: E402

TIME = figures.Figure("time of a model", "s", False, lambda context: 2.0)
RATE = figures.Figure("words a second", "1/s", True, lambda context: 100.0)


def found(time, rate):
    return {TIME.name: figures.Measured(TIME, time), RATE.name: figures.Measured(RATE, rate)}


class BenchAllTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.object(kept, "commit", lambda: "0123456789"))

    def test_a_program_that_is_not_built_or_older_than_its_library_is_named(self):
        program, library = self.folder / "bin/bench_generation", self.folder / "lib/libweft.so"
        with self.assertRaisesRegex(SystemExit, "there is no program .*bench_generation: .*-DWEFT_BENCH=ON.*--target bench_generation"):
            programs.check_built(program)
        for path, modified in ((program, 2000), (library, 1000)):
            path.parent.mkdir()
            path.touch()
            os.utime(path, (modified, modified))
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            programs.check_built(program)
            self.assertEqual(said.getvalue(), "")
            os.utime(library, (3000, 3000))
            programs.check_built(str(program))
        self.assertRegex(said.getvalue(), "^warning: .*libweft.so was built after .*bench_generation, which opens it: .*\n$")

    def test_runs_are_kept_and_compared_with_the_best(self):
        for time, rate in ((2.0, 90.0), (1.0, 100.0), (3.0, 80.0)):
            store = kept.Store("a-processor", self.folder)
            store.add(found(time, rate), "")
        store = kept.Store("a-processor", self.folder)
        self.assertEqual(len(store.runs), 3)
        self.assertEqual((store.best(TIME)[0], store.best(RATE)[0], store.last(TIME)[0]), (1.0, 100.0, 3.0))
        self.assertEqual(store.fallen(found(1.04, 96.0)), [])
        self.assertEqual([line.split(":")[0] for line in store.fallen(found(1.06, 94.0))], [TIME.name, RATE.name])
        self.assertEqual(kept.Store("another", self.folder).fallen(found(9.0, 1.0)), [])

    def test_what_was_not_run_says_why_and_is_not_kept(self):
        def fails(context):
            raise RuntimeError("no such instruction")

        figure = figures.Figure("time of int8", "s", False, fails)
        missing = {figure.name: figure.measure(None)}
        store = kept.Store("a-processor", self.folder)
        store.add(found(2.0, 100.0), "")
        self.assertIn("| time of int8 | not run: no such instruction |", store.table(missing))
        self.assertIn(f"| {RATE.name} | kept | 100 (", store.table(missing))
        store.add(missing, "")
        self.assertEqual((store.runs[-1]["figures"], store.runs[-1]["failed"]), ({}, {figure.name: "not run: no such instruction"}))

    def test_peers_come_last_and_never_fall(self):
        names = [(figure.is_peer, figure.name) for figure in figures.all_figures(figures.GROUPS, True)]
        self.assertEqual([is_peer for is_peer, _ in names], sorted(is_peer for is_peer, _ in names))
        self.assertEqual(len({name for _, name in names}), len(names))
        self.assertFalse(any(figure.is_peer for figure in figures.all_figures(figures.GROUPS, False)))
        self.assertRegex(kept.processor(), r"^[a-z0-9.-]+-cores$")

    def test_long_texts_have_the_reference_first_and_the_rarest_peer_last(self):
        rows = long_texts.rows()
        self.assertEqual(sorted(rows), sorted((program, length) for program in long_texts.PROGRAMS for length in long_texts.LENGTHS))
        for length in long_texts.LENGTHS:
            of_length = [program for program, other in rows if other == length]
            self.assertEqual(of_length[0], long_texts.REFERENCE)
            self.assertEqual(of_length[-3:], ["transformers bfloat16", "ONNX Runtime float32", "sentence-transformers float32"])

    def test_what_is_answered_takes_no_time_again(self):
        context = figures.Context("weft", "python3", 1, self.folder, 60)
        command = [sys.executable, "-c", """print('{"seconds": 3, "peak_gb": 2}')"""]
        known = [figures.Figure(field, "", False, lambda context, field=field: context.json(command, 40)[field]) for field in ("seconds", "peak_gb")]
        new = figures.Figure("new", "", False, lambda context: context.json([sys.executable, "-c", ""], 40)["seconds"])
        self.assertEqual(known[0].measure(context).value, 3)
        context.end = time.monotonic() + 30
        self.assertEqual(known[1].measure(context).value, 2)
        late = new.measure(context)
        self.assertRegex(late.why, "^not run: (29|30) s were left, and it takes about 40$")
        self.assertTrue(late.no_time)
        slow = figures.Figure("slow", "", False, lambda context: context.json([sys.executable, "-c", "import time; time.sleep(60)"], 0)["seconds"])
        context.end = time.monotonic() + 1
        self.assertRegex(slow.measure(context).why, "^not run: it took longer than the [01] s that were left$")

    def test_a_reference_that_others_needed_is_shown_after_the_time(self):
        """The time of the reference is known once anything was compared with it."""
        context = figures.Context("weft", "python3", 1, self.folder, 3600)
        (self.folder / "long-text").mkdir()
        with mock.patch.object(context, "run", lambda command, limit: {"difference": 0.1, "seconds": 3.0, "peak_gb": 1.0}):
            self.assertEqual(figures.Figure("ours", "s", False, long_texts.read("Weft bfloat16", 32768, "difference")).measure(context).value, 0.1)
            context.end -= 3600
            for field, value in (("seconds", 3.0), ("peak_gb", 1.0), ("difference", 0.0)):
                self.assertEqual(figures.Figure("reference", "", False, long_texts.read(long_texts.REFERENCE, 32768, field)).measure(context).value, value)
            self.assertTrue(figures.Figure("ours", "s", False, long_texts.read("Weft bfloat16", 32768, "seconds")).measure(context).no_time)

    def test_a_command_that_failed_is_not_run_again(self):
        context = figures.Context("weft", "python3", 1, self.folder, 60)
        command = [sys.executable, "-c", f"open({str(self.folder / 'runs')!r}, 'a').write('1'); raise SystemExit('no memory')"]
        for _ in range(2):
            with self.assertRaisesRegex(RuntimeError, "no memory"):
                context.json(command, 10)
        self.assertEqual((self.folder / "runs").read_text(), "1")

    def test_what_cannot_be_read_or_made_is_a_line(self):
        context = figures.Context("weft", "python3", 1, self.folder, 60)
        silent = figures.Figure("time", "s", False, lambda context: context.json([sys.executable, "-c", ""], 10)["seconds"])
        self.assertEqual(silent.measure(context).why, "not run: it printed no JSON")
        (self.folder / "weft").write_text("#!/bin/sh\necho no room >&2\nexit 1\n")
        (self.folder / "weft").chmod(0o755)
        context.weft = self.folder / "weft"
        unmade = figures.Figure("time", "s", False, lambda context: context.model("big_bird"))
        self.assertEqual(unmade.measure(context).why, "not run: no room")

    def test_a_long_text_that_differs_is_not_timed(self):
        context = figures.Context("weft", "python3", 1, self.folder, 60)
        (self.folder / "long-text").mkdir()
        for found, right in ((0.2, True), (0.6, False), (float("nan"), False)):
            with mock.patch.object(context, "json", lambda command, limit, found=found: {"difference": found, "seconds": 3.0, "peak_gb": 1.0}):
                measured = figures.Figure("time", "s", False, long_texts.read("Weft bfloat16", 8192, "seconds")).measure(context)
            self.assertEqual(measured.value, 3.0 if right else None)
            self.assertEqual("differ by" in measured.why, not right)

    def test_the_chart_has_what_is_known_and_says_what_was_not_run(self):
        known = {long_texts.figure_name("Weft int8", 8192, "seconds"): 2.0, long_texts.figure_name("transformers float32", 8192, "seconds"): 30.0}
        picture = ElementTree.fromstring(chart.svg(known.get))
        words = [element.text for element in picture.iter() if element.tag.endswith("text")]
        self.assertIn("2.0 s", words)
        self.assertIn("30.0 s", words)
        self.assertIn("8,192 tokens", words)
        self.assertEqual(words.count("not run"), 2 * len(long_texts.LENGTHS) * len(long_texts.PROGRAMS) - len(known))
        self.assertEqual([chart.plain(value) for value in (0.3, 0.04321, 0.0479, 0.0000051, 0.0)], ["0.3", "0.04", "0.05", "0.000005", "0.0"])
        store = kept.Store("a-processor", self.folder)
        store.add(found(2.0, 100.0), "")
        self.assertEqual((store.value(TIME.name, {}), store.value(TIME.name, found(1.5, 90.0)), store.value("another", {})), (2.0, 1.5, None))
        wrong = {TIME.name: figures.Measured(TIME, why="not run: hidden states differ")}
        self.assertEqual(store.value(TIME.name, wrong), "not run: hidden states differ")  # and not the one that was kept when they were right
        late = {TIME.name: figures.Measured(TIME, why="not run: 3 s were left, and it takes about 9", no_time=True)}
        self.assertEqual(store.value(TIME.name, late), 2.0)

    def test_a_peer_that_found_no_room_is_marked_in_later_runs_too(self):
        store, name = kept.Store("a-processor", self.folder), long_texts.figure_name("ONNX Runtime float32", 32768, "seconds")
        figure = figures.Figure(name, "s", False, None, is_peer=True)
        store.add({name: figures.Measured(figure, why=f"not run: {long_texts.NO_ROOM}: onnxruntime needs more than the 21 GB that are free")}, "")
        store.add(found(2.0, 100.0), "")
        picture = ElementTree.fromstring(chart.svg(lambda name: kept.Store("a-processor", self.folder).value(name, {})))
        words = [element.text for element in picture.iter() if element.tag.endswith("text")]
        self.assertEqual(words.count("no room in memory"), 1)
        store.add({name: figures.Measured(figure, 80.0)}, "")
        self.assertEqual(store.value(name, {}), 80.0)


if __name__ == "__main__":
    unittest.main()
