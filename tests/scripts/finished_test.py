#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/science/finished.py: lines of finished cells are kept as they are, what is wrong in them is named, and one process at a time writes to them;
and what science.py asks of its flags before a cell begins."""
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "examples/science"))

import finished  # noqa: E402

PROGRAM = ROOT / "examples/science/science.py"
# In place of weft: says what its --version is told to say.
SAYS = "#!/bin/sh\necho '{}'\n"


def line(row, seed, f1=1.0):
    return json.dumps({"cell": {"row": row}, "seed": seed, "figures": {"f1": f1}})


class FinishedTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-finished-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "small.jsonl"

    def said(self, work):
        """(what it gives, what it says on stderr)"""
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            found = work(self.path)
        return found, errors.getvalue()

    def test_a_last_line_without_its_end_is_kept(self):
        text = f"{line('a', 0)}\n{line('a', 1)}"
        self.path.write_text(text)
        found, said = self.said(finished.read)
        self.assertEqual(([each["seed"] for each in found], said, self.path.read_text()), ([0, 1], "", text))
        self.assertEqual(self.said(finished.mend), (None, ""))
        self.assertEqual(self.path.read_text(), text + "\n")

    def test_a_line_that_was_cut_off_is_said_and_only_mending_takes_it_away(self):
        text = f"{line('a', 0)}\n{line('a', 1)[:20]}"
        self.path.write_text(text)
        found, said = self.said(finished.read)
        self.assertEqual((len(found), self.path.read_text()), (1, text))
        self.assertEqual(said, f"science: {self.path} line 2 was cut off while it was written, and is left out: {line('a', 1)[:20]}\n")
        said = self.said(finished.mend)[1]
        self.assertEqual(said, f"science: {self.path} line 2 was cut off while it was written, and is taken away: {line('a', 1)[:20]}\n")
        self.assertEqual(self.path.read_text(), f"{line('a', 0)}\n")
        self.assertEqual(self.said(finished.mend), (None, ""))

    def test_no_file_has_no_lines(self):
        self.assertEqual((finished.read(self.path), finished.mend(self.path), self.path.exists()), ([], None, False))

    def test_a_cell_that_is_there_twice_is_named(self):
        self.path.write_text(f"{line('a', 0)}\n{line('b', 0)}\n{line('a', 0, 2.0)}\n")
        with self.assertRaises(SystemExit) as caught:
            finished.read(self.path)
        self.assertEqual(str(caught.exception), f'science: {self.path} line 3 has the cell {{"row": "a"}} with seed 0, which line 1 has, too: remove one of them')

    def test_what_is_no_finished_cell_is_named(self):
        wrong = {
            b'{"cell": 1': "is no JSON: ",
            b"[" * 100_000: "is no JSON: ",
            b"": "is no JSON: ",
            b"7": "must be an object, found int",
            b"{}": 'must have "cell", the settings of a row, found none',
            b'{"cell": {}, "seed": "0", "figures": {}}': 'must have "seed", a whole number, found "0"',
            b'{"cell": {}, "seed": true, "figures": {}}': 'must have "seed", a whole number, found true',
            b'{"cell": {}, "seed": 0, "figures": [1]}': 'must have "figures", numbers by name, found \\[1\\]',
            b'{"cell": {}, "seed": 0, "figures": {"f1": "1"}}': 'must have a number as the figure "f1", found "1"',
            b'{"cell": {}, "seed": 0, "figures": {}, "device": "cpu"}': 'names a device, so it must have "machine", a text, too',
            b'{"cell": "\xff"}': "must be UTF-8, found byte 0xff at place 11",
        }
        for text, expected in wrong.items():
            self.path.write_bytes(line("a", 0).encode() + b"\n" + text + b"\n")
            with self.assertRaisesRegex(SystemExit, f"^science: .*small.jsonl line 2 {expected}[^\n]*$", msg=text[:60]):
                finished.read(self.path)

    def test_committed_lines_are_whole(self):
        for path in (ROOT / "examples/science/results").glob("*.jsonl"):
            self.assertEqual(self.said(lambda _, path=path: finished.read(path))[1], "")
            self.assertTrue(path.read_bytes().endswith(b"\n"), path)

    def test_one_process_holds_a_file(self):
        lock = self.folder / "small.lock"
        with finished.locked({lock: "computes small"}):
            with self.assertRaisesRegex(SystemExit, "another process computes small: it holds .*small.lock"), finished.locked({lock: "computes small"}):
                self.fail("two hold the lock")
        with finished.locked({lock: "computes small"}):
            pass


class FlagsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-finished-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.results = self.folder / "results"
        self.weft = self.program("weft", "weft 0.1.0")

    def program(self, name, said):
        path = self.folder / name
        path.write_text(SAYS.format(said))
        path.chmod(0o755)
        return path

    def science(self, *flags):
        own = ["--weft", self.weft, "--results", self.results, "--out", self.folder / "out"]
        return subprocess.run([sys.executable, PROGRAM, "encoder_recall", *map(str, own), *map(str, flags)], capture_output=True, text=True, timeout=120)

    def refused(self, *flags):
        """The line that says why."""
        done = self.science(*flags)
        self.assertNotIn("Traceback", done.stderr)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr.splitlines()[-1]

    def test_flags_that_cannot_be_heeded(self):
        self.assertIn("--threads must be 1 or more, found 0", self.refused("--threads", 0))
        self.assertIn("--minutes is for cells one after the other, and --jobs is 2: give --seconds", self.refused("--jobs", 2, "--minutes", 1))
        (self.folder / "file").write_text("")
        self.assertIn(f"--results must be a folder, found the file {self.folder}/file", self.refused("--results", self.folder / "file"))
        self.assertIn(f"--out must be a folder, found the file {self.folder}/file", self.refused("--out", self.folder / "file"))

    def test_a_program_that_is_not_weft(self):
        other = self.program("other", "another 1.0")
        self.assertEqual(self.refused("--weft", other),
                         f"science: {other} must be the weft program, whose --version begins with \"weft \", found 'another 1.0', exit code 0")
        plain = self.folder / "plain"
        plain.write_text("")
        self.assertEqual(self.refused("--weft", plain), f"science: {plain} cannot be run: Permission denied")

    def test_showing_changes_no_file(self):
        self.assertEqual(self.science("--show").returncode, 0)
        self.assertFalse(self.results.exists())
        self.results.mkdir()
        path = self.results / "encoder_recall.jsonl"
        path.write_text('{"cell": {"attention": "alone"}, "seed"')
        done = self.science("--show")
        self.assertEqual(path.read_text(), '{"cell": {"attention": "alone"}, "seed"')
        self.assertIn(f"{path} line 1 was cut off", done.stderr)

    def test_results_are_locked_whatever_the_folder_of_runs(self):
        self.results.mkdir()
        with finished.locked({self.results / "encoder_recall.lock": "computes encoder_recall"}):
            self.assertIn("another process computes encoder_recall", self.refused("--out", self.folder / "elsewhere"))
        self.assertFalse((self.results / "encoder_recall.jsonl").exists())


if __name__ == "__main__":
    unittest.main()
