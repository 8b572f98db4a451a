#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/demo with settings so small that nothing is learned: what it shows, what it leaves behind, and how it fails. No figure is judged."""
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "scripts"))

from demonstrating import documents, figures, programs  # noqa: E402


def demo(folder, *arguments, **variables):
    environment = {**os.environ, "WEFT_DEMO_OUT": str(folder / "out"), "WEFT_DEMO_MINUTES": "0.02", "WEFT_DEMO_DOCUMENTS": "3000,6000", **variables}
    return subprocess.run([sys.executable, ROOT / "scripts/demo", *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=400)


def text_of(size):
    draw, words = random.Random(1), ["graph", "token", "query", "key", "value", "window", "stride", "block", "head", "layer"]
    return " ".join(draw.choice(words) + str(draw.randrange(100)) for _ in range(size // 4))[:size]


class DocumentsTest(unittest.TestCase):
    def test_quotations_stand_where_they_say(self):
        text = text_of(60_000).encode()
        document, quotations = documents.quoting(text, 50_000, 10_000, seed=1)
        self.assertGreater(len(quotations), 20)
        for quotation in quotations:
            begin, end = quotation.begin, quotation.end
            self.assertEqual(document[begin:end], document[begin - quotation.distance:end - quotation.distance])
            self.assertLess(quotation.distance, 10_000)
            self.assertEqual(document[begin - 5:begin], documents.OPENING)
        self.assertEqual(documents.quoting(text, 50_000, 10_000, seed=1)[0], document)

    def test_scores_are_counted_by_distance(self):
        quotations = [documents.Quotation(100, 200, 90), documents.Quotation(5000, 5100, 4500)]
        scores = [{"begin": at, "end": at + 2, "bits": 1.0 if at > 4000 else 3.0, "hit": at > 4000} for at in range(0, 6000, 2)]
        found = figures.found_by_distance(scores, quotations)
        near, far, outside = found[(0, 1000)], found[(4000, 10000)], found[None]
        self.assertEqual((near.bytes, near.bits_per_byte, near.percent_right), (100 - figures.BEGINNING, 1.5, 0))
        self.assertEqual((far.bytes, far.bits_per_byte, far.percent_right), (100 - figures.BEGINNING, 0.5, 100))
        self.assertEqual(outside.bytes, 6000 - 200)


class TurnsTest(unittest.TestCase):
    def test_turns_that_agree_say_their_spread(self):
        turns = programs.Turns([1.0, 1.1, 1.2], [4.0, 4.4, 4.1])
        self.assertEqual(turns.ratio, 4.0)
        self.assertEqual(len(list(turns.lines())), 1)
        self.assertIn("1.00 to 1.20 s", next(turns.lines()))

    def test_turns_that_disagree_say_so(self):
        for first, second in (([1.0, 1.6, 1.1], [4.0, 4.1, 4.2]), ([1.0, 1.1, 1.2], [4.0, 7.0, 4.1])):
            lines = list(programs.Turns(first, second).lines())
            self.assertEqual(len(lines), 2)
            self.assertIn("THE TURNS DISAGREE", lines[1])

    def test_programs_take_turns(self):
        calls = []

        def program(name, seconds):
            calls.append(name)
            return programs.Finished({"seconds": seconds + len(calls)}, 0.0, 0.0)

        turns, first = programs.take_turns(lambda: program("a", 10), lambda: program("b", 20), 3)
        self.assertEqual(calls, ["a", "b"] * 3)
        self.assertEqual((turns.first, turns.second), ([11, 13, 15], [22, 24, 26]))
        self.assertEqual([one.figures["seconds"] for one in first], [11, 22])


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
        for part in ("bits per byte", "right at the first guess", "3,000 bytes", "6,000 bytes", "with the pattern", "with full attention, ",
                     "best of 3 turns each", "not run", "largest error"):
            self.assertIn(part, summary)
        for name in ("run/model.safetensors", "layer-0.png", "layer-1.png", "train.txt", "held-out.txt"):
            self.assertTrue((self.folder / "out" / name).is_file(), name)

    def test_what_is_wrong_is_one_line(self):
        self.assert_one_line(demo(self.folder, "--text", self.folder / "none"), "there is no", "none")
        (self.folder / "short.txt").write_text("short")
        self.assert_one_line(demo(self.folder, "--text", self.folder / "short.txt"), "5 bytes", "200,000 or more")
        self.assert_one_line(demo(self.folder, WEFT_BINARY=str(self.folder / "weft")), "is not built", "make build")
        self.assert_one_line(demo(self.folder, "--text", self.folder / "text.txt", WEFT_DEMO_MINUTES="-1"), "weft train", "minutes")
        self.assert_one_line(demo(self.folder, WEFT_DEMO_MINUTES="soon"), "WEFT_DEMO_MINUTES", "soon")
        self.assertEqual(demo(self.folder, "--txt", "x").returncode, 2)


if __name__ == "__main__":
    unittest.main()
