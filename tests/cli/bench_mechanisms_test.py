# SPDX-License-Identifier: Apache-2.0
"""`weft bench mechanisms`: its tables and JSON, what it leaves out and says, what it refuses."""
import unittest

from weft_program import Case, weft, weft_json

SMALL_CALLS = ["bench", "mechanisms", "--heads", "2", "--head-dim", "8", "--threads", "1"]


class BenchMechanisms(Case):
    def test_json_has_a_row_for_each_mechanism_and_length(self):
        for causal in ([], ["--causal"]):
            result = weft_json(*SMALL_CALLS, "--lengths", "16,33", *causal)
            self.assertGreaterEqual(len(result["mechanisms"]), 8)
            for row in result["mechanisms"]:
                self.assertIsNone(row["refused"], row)
                self.assertEqual([times["length"] for times in row["lengths"]], [16, 33])
                for times in row["lengths"]:
                    for key in ("forward_ms", "forward_bytes", "forward_backward_ms", "forward_backward_bytes"):
                        self.assertGreater(times[key], 0, (row["attention"], key))
                self.assertEqual(row["state_bytes"] is not None, bool(causal), row["attention"])

    def test_break_even_lies_before_the_length_that_is_faster(self):
        result = weft_json(*SMALL_CALLS, "--lengths", "16,64,1024", "--attention", "full", "linear", "window(3)")
        first, *others = result["mechanisms"]
        self.assertIsNone(first["break_even"])
        for row in others:
            self.assertIn(row["less_memory_from"], (None, 16, 64, 1024))
            self.assertEqual(row["break_even"] is None, row["faster_from"] is None, row)
            if row["faster_from"] is not None:
                self.assertLessEqual(row["break_even"], row["faster_from"])
                self.assertGreater(row["break_even"], {16: 15, 64: 15, 1024: 63}[row["faster_from"]])
        done = weft(*SMALL_CALLS, "--lengths", "16,64", "--attention", "full", "linear", "--no-backward")
        self.assertIn("break-even", done.stdout)
        self.assertIn("memory", done.stdout)

    def test_a_state_of_constant_size_is_smaller(self):
        rows = weft_json(*SMALL_CALLS, "--lengths", "16", "--causal", "--attention", "causal", "linear", "rfa(features=8, gate=yes)")["mechanisms"]
        self.assertEqual([row["attention"] for row in rows], ["causal", "linear", "rfa(features=8, gate=yes)"])
        keys_and_values, linear, rfa = (row["state_bytes"] for row in rows)
        self.assertEqual(keys_and_values, 2 * 2 * 1024 * 8 * 4)
        self.assertEqual((linear, rfa), (2 * 8 * 9 * 4, 2 * 8 * 9 * 4))

    def test_what_would_take_too_much_is_left_out_and_said(self):
        row = weft_json(*SMALL_CALLS, "--lengths", "16,4000000", "--attention", "full", "--memory", "0.01", "--seconds", "3600")["mechanisms"][0]
        self.assertEqual(row["skipped_from"], 4_000_000)
        self.assertEqual(len(row["lengths"]), 1)
        done = weft(*SMALL_CALLS, "--lengths", "16,4000000", "--attention", "full", "--seconds", "0.5", "--no-backward")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("left out from 4,000,000 tokens on: a call would", done.stdout)

    def test_a_mechanism_that_cannot_is_a_row_that_says_why(self):
        rows = weft_json(*SMALL_CALLS, "--lengths", "16", "--causal", "--attention", "linear", "nystrom")["mechanisms"]
        self.assertIn("cannot be part of a decoder, because", rows[1]["refused"])
        self.assertEqual(rows[1]["lengths"], [])
        rows = weft_json(*SMALL_CALLS, "--lengths", "16", "--attention", "full", "rfa(gate=yes)", "global_local")["mechanisms"]
        self.assertIn("for decoders alone", rows[1]["refused"])
        self.assertEqual(len(rows[2]["lengths"]), 1, "beside global tokens of its own")

    def test_a_figure_of_the_times(self):
        for name, begin in (("times.png", b"\x89PNG"), ("times.svg", b"<?xml")):
            done = weft(*SMALL_CALLS, "--lengths", "16,33", "--attention", "full", "linear", "--no-backward", "--plot", self.folder / name)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue((self.folder / name).read_bytes().startswith(begin), name)
        for causal in ([], ["--causal"]):
            figure = self.folder / f"of-each-kind{len(causal)}.svg"
            done = weft(*SMALL_CALLS, "--lengths", "16,33", "--no-backward", *causal, "--plot", figure)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(figure.read_bytes().startswith(b"<?xml"))
        self.assert_fails(weft(*SMALL_CALLS, "--lengths", "16", "--plot", self.folder / "times.pdf"), 1, "--plot", ".png or .svg", "times.pdf")
        many = ["full", "linear"] * 10
        self.assert_fails(weft(*SMALL_CALLS, "--lengths", "16", "--attention", *many, "--plot", self.folder / "x.png"), 1, "16 mechanisms", "found 20")

    def test_errors(self):
        for lengths in ("", "32,16", "0", "8,x", "8,8", "99999999999"):
            done = weft(*SMALL_CALLS, "--lengths", lengths)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("--lengths", done.stderr)
        done = weft(*SMALL_CALLS, "--lengths", "16", "--attention", "windw(3)")
        self.assertEqual(done.returncode, 1)
        self.assertIn("windw", done.stderr)


if __name__ == "__main__":
    unittest.main()
