# SPDX-License-Identifier: Apache-2.0
"""`weft bench attention`: its JSON, what it checks, and that a forced instruction set is honoured or refused; `weft bench mechanisms`: its
tables and JSON, what it leaves out and says, what it refuses."""
import json
import unittest

from weft_program import Case, environment, weft, weft_json

SMALL = ["bench", "attention", "--length", "300", "--heads", "2", "--head-dim", "16"]
SMALL_CALLS = ["bench", "mechanisms", "--heads", "2", "--head-dim", "8", "--threads", "1"]
KEYS = {
    "isa", "threads", "dtype", "pattern", "length", "density", "edges", "slots", "forward_ms", "dense_forward_ms",
    "forward_backward_ms", "dense_forward_backward_ms", "gflops", "gemm_gflops", "workspace_bytes", "max_abs_error",
}  # fmt: skip


class BenchAttention(Case):
    def test_json_has_what_programs_read(self):
        result = weft_json(*SMALL, "--pattern", "window(9) | global(1)", "--backward")
        self.assertLessEqual(KEYS, set(result))
        self.assertEqual(result["pattern"], "window(9) | global(1)")
        self.assertEqual(result["length"], 300)
        self.assertLess(result["max_abs_error"], 1e-5)
        for key in ("forward_ms", "dense_forward_ms", "forward_backward_ms", "dense_forward_backward_ms", "gemm_gflops"):
            self.assertGreater(result[key], 0, key)

    def test_a_bias_is_checked_and_timed(self):
        for bias in ("alibi", "bialibi"):
            result = weft_json(*SMALL, "--pattern", "window(9)", "--bias", bias, "--backward")
            self.assertEqual(result["bias"], bias)
            self.assertLess(result["max_abs_error"], 1e-5)

    def test_without_backward_its_times_are_null(self):
        result = weft_json(*SMALL, "--pattern", "causal", "--dtype", "bfloat16")
        self.assertIsNone(result["forward_backward_ms"])
        self.assertIsNone(result["dense_forward_backward_ms"])
        self.assertEqual(result["dtype"], "bfloat16")
        self.assertEqual(result["yardstick_dtype"] == "bfloat16", weft_json("version")["fast_bfloat16"])

    def test_what_is_beside_it_is_multiplied_as_weft_multiplies(self):
        # LibTorch held to AVX2 takes minutes for the product in bfloat16.
        held = environment(ATEN_CPU_CAPABILITY="avx2", ONEDNN_MAX_CPU_ISA="AVX2")
        done = weft(*SMALL, "--pattern", "causal", "--dtype", "bfloat16", "--backward", "--json", env=held)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["yardstick_dtype"], "float32")

    def test_every_instruction_set_is_honoured_or_refused(self):
        for isa in ("scalar", "generic", "avx2", "avx512", "avx512bf16", "amx"):
            done = weft(*SMALL, "--pattern", "window(9)", "--rounds", "0", "--json", env=environment(WEFT_ISA=isa))
            if done.returncode == 0:
                self.assertIn(f'"isa":"{isa}"', done.stdout.replace(" ", ""))
            else:
                self.assertIn(f"this machine has no working {isa}", done.stderr)

    def test_an_unknown_instruction_set_is_an_error(self):
        done = weft(*SMALL, "--pattern", "full", env=environment(WEFT_ISA="neon"))
        self.assert_fails(done, 1, "WEFT_ISA must be one of scalar, generic, avx2", "neon")

    def test_a_pattern_that_does_not_parse_is_an_error(self):
        done = weft(*SMALL, "--pattern", "window(")
        self.assertEqual(done.returncode, 1)
        self.assertIn("column 8", done.stderr)


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
