#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/demo with settings so small that nothing is learned: what it shows, what it leaves behind, and how it fails. No figure is judged."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "scripts"))

from demonstrating import documents, programs, restoring  # noqa: E402


def load(path):
    """A script without .py as a module."""
    loader = importlib.machinery.SourceFileLoader(path.name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.name, loader))
    loader.exec_module(module)
    return module


scripts_demo = load(ROOT / "scripts/demo")


def demo(folder, *arguments, **variables):
    environment = {**os.environ, "WEFT_DEMO_OUT": str(folder / "out"), "WEFT_THREADS": "1", "WEFT_DEMO_MINUTES": "0.0001", "WEFT_DEMO_LENGTHS": "256,200,250,300,1000",
                   "WEFT_DEMO_WORDS": "40,120", **variables}
    return subprocess.run([sys.executable, ROOT / "scripts/demo", *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=400)


def text_of(size):
    draw, words = random.Random(1), ["graph", "token", "query", "key", "value", "window", "stride", "block", "head", "layer"]
    return " ".join(draw.choice(words) + str(draw.randrange(100)) for _ in range(size // 4))[:size]


class DocumentsTest(unittest.TestCase):
    def test_headers_with_the_same_stem_stay_together(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "ops").mkdir()
            (folder / "ops/generated.h").write_text("generated")
            for number in range(500):
                for twin in ("", "_inl"):
                    (folder / f"h{number:03}{twin}.h").write_text(f"<{number}>")
            train, held_out = documents.headers_text(folder)
        self.assertEqual(held_out, b"<199><199>")
        self.assertEqual(len(train) + len(held_out), 2 * sum(len(f"<{number}>") for number in range(500)))


class TurnsTest(unittest.TestCase):
    def test_turns_that_agree_say_their_spread(self):
        turns = programs.Turns([1.0, 1.1, 1.2], [4.0, 4.4, 4.1], ("a", "b"))
        self.assertEqual((turns.ratio, turns.disagree), (4.0, False))
        self.assertEqual(turns.spread(), "best of 3 turns: a 1.00 to 1.20 s, b 4.00 to 4.40 s")
        self.assertEqual(len(list(turns.each())), 3)

    def test_turns_that_lie_apart_disagree(self):
        for first, second in (([1.0, 1.6, 1.1], [4.0, 4.1, 4.2]), ([1.0, 1.1, 1.2], [4.0, 7.0, 4.1])):
            self.assertTrue(programs.Turns(first, second).disagree)

    def test_programs_take_turns(self):
        calls = []

        def program(name, seconds):
            calls.append(name)
            return seconds + len(calls)

        turns = programs.take_turns(lambda: program("a", 10), lambda: program("b", 20), 3, "ab")
        self.assertEqual(calls, ["a", "b"] * 3)
        self.assertEqual((turns.first, turns.second), ([11, 13, 15], [22, 24, 26]))


def summary_of(step, turns):
    """The summary of figures that no program measured."""
    passes = {name: {length: programs.Finished({"seconds": 2.0}, 2.0, 0.5) for length in scripts_demo.LENGTHS} for name in ("pattern", "full")}
    return list(scripts_demo.in_short(1e-6, step, {"pattern": (10, 2.0), "full": (2, 3.0)}, turns, passes))


class SummaryTest(unittest.TestCase):
    CALM, DISTURBED = programs.Turns([1.0, 1.1], [4.0, 4.1]), programs.Turns([1.0, 1.1], [4.0, 9.0])

    def test_turns_that_agree_need_no_warning(self):
        self.assertFalse([line for line in summary_of(self.CALM, self.CALM) if "DISAGREE" in line])

    def test_turns_that_disagree_are_the_last_line(self):
        for step, turns in ((self.CALM, self.DISTURBED), (self.DISTURBED, self.CALM)):
            self.assertIn("THE TURNS DISAGREE", summary_of(step, turns)[-1])


class MachineTest(unittest.TestCase):
    def test_a_document_that_memory_cannot_hold_is_halved_aloud(self):
        printed = io.StringIO()
        with mock.patch.object(programs, "available_memory", lambda: 2e9), contextlib.redirect_stdout(printed):
            self.assertEqual(scripts_demo.fitting(scripts_demo.LENGTHS[-1]), 262_144)
        self.assertIn("262,144 bytes and not 1,048,576", printed.getvalue())

    def test_why_a_program_failed(self):
        self.assertEqual(programs.reason("note\nweft: error: no room\nhint: make some\n"), "weft: error: no room")
        self.assertIn("out of memory", programs.reason(""))
        self.assertEqual(programs.ending(-9), "signal 9")


class RestoringTest(unittest.TestCase):
    def test_prose_is_whole_sentences(self):
        with tempfile.TemporaryDirectory() as name:
            page = pathlib.Path(name) / "page.md"
            page.write_text("# A heading that has as many words as a sentence needs to be taken as one.\n\n"
                            "A [link](there.md) and `code` stay in\na paragraph of more than twelve words, whose lines are joined.\n\n"
                            "| a table of more than twelve words is left out because it is no sentence |\n\n```\nCode of words.\n```\nToo short.\n")
            self.assertEqual(list(restoring.prose([page])), ["A link and code stay in a paragraph of more than twelve words, whose lines are joined."])

    def test_words_lose_case_and_marks(self):
        words = restoring.long_words('He said: "Stop, Ada!" (At 10:30.) --', 9)
        self.assertEqual(restoring.bare(words), ["he", "said", "stop", "ada", "at", "10:30", "he", "said"])
        with self.assertRaises(documents.Problem):
            restoring.long_words(" ", 3)

    def test_both_attentions_take_turns_and_the_text_is_kept(self):
        calls = []

        class Weft:
            def json(self, *arguments):
                model, file = pathlib.Path(arguments[2]), pathlib.Path(arguments[4])
                calls.append((json.loads((model / "config.json").read_text())["attention"], len(file.read_text().split())))
                return programs.Finished({"result": {"text": file.read_text().upper(), "sentences": [{}]}}, 2.0, 0.5)

        with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()) as printed:
            folder = pathlib.Path(name)
            (folder / "model").mkdir()
            (folder / "model/config.json").write_text('{"attention": ["relative(reach=2)"]}')
            lines = restoring.show(Weft(), folder / "model", "One. Two.", folder, 3, 5)
            self.assertEqual((folder / "restored.txt").read_text(), "ONE TWO ONE TWO ONE\n")
        window, full = ["relative(reach=2)"], ["relative"]
        self.assertEqual(calls, [(window, 5), *[(window, 3), (full, 3)] * restoring.ROUNDS])
        self.assertIn("one two one two one", printed.getvalue())
        self.assertIn("5 words, 1 sentences, in one pass: 2.00 s, 0.50 GB", lines[-1])


class DemoTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-demo-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "text.txt").write_text(text_of(400_000))

    def assert_one_line(self, process, *parts):
        self.assertEqual(process.returncode, 1, process.stdout + process.stderr)
        self.assertEqual(len(process.stderr.splitlines()), 1, process.stderr)
        for part in ("demo: ", *parts):
            self.assertIn(part, process.stderr)

    def test_a_small_demo_from_its_text_to_its_summary(self):
        process = demo(self.folder, "--text", self.folder / "text.txt")
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        summary = (self.folder / "out/summary.txt").read_text()
        self.assertIn(summary, process.stdout)
        for part in ("a document of 300 bytes", "a document of 1,000 bytes", "documents of 256 bytes", "the pattern", "full attention", "best of 2 turns",
                     "times as fast", " GB", "not run", "bits per byte", "exact reference"):
            self.assertIn(part, summary)
        for name in ("pattern/model.safetensors", "pattern.png", "time-by-length.svg", "train.txt", "held-out.txt"):
            self.assertTrue((self.folder / "out" / name).is_file(), name)

    def test_what_is_wrong_is_one_line(self):
        self.assert_one_line(demo(self.folder, "--text", self.folder / "none"), "there is no", "none")
        (self.folder / "short.txt").write_text("short")
        self.assert_one_line(demo(self.folder, "--text", self.folder / "short.txt"), "5 bytes", "200,000 or more")
        self.assert_one_line(demo(self.folder, WEFT_BINARY=str(self.folder / "weft")), "is not built", "make build")
        for given in ("soon", "-1", "1,2"):
            self.assert_one_line(demo(self.folder, WEFT_DEMO_MINUTES=given), "WEFT_DEMO_MINUTES", given)
        self.assert_one_line(demo(self.folder, "--text", self.folder / "text.txt", WEFT_THREADS="none"), "`weft ", "WEFT_THREADS")
        self.assertEqual(demo(self.folder, "--txt", "x").returncode, 2)


if __name__ == "__main__":
    unittest.main()
