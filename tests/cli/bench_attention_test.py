# SPDX-License-Identifier: Apache-2.0
"""`weft bench attention`: its JSON, what it checks, and that a forced instruction set is honoured or refused."""
import json
import unittest

from weft_program import Case, environment, weft, weft_json

SMALL = ["bench", "attention", "--length", "300", "--heads", "2", "--head-dim", "16"]
KEYS = {
    "isa", "threads", "dtype", "pattern", "length", "density", "edges", "slots", "forward_ms", "dense_forward_ms",
    "forward_backward_ms", "dense_forward_backward_ms", "gflops", "gemm_gflops", "workspace_bytes", "max_abs_error",
    "forward_bytes", "dense_forward_bytes", "forward_backward_bytes", "dense_forward_backward_bytes",
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

    def test_attention_that_stores_its_scores(self):
        result = weft_json(*SMALL, "--pattern", "window(9)", "--stored-scores", "--backward", "--rounds", "1")
        output, scores = 4 * 2 * 300 * 16, 4 * 2 * 300 * 300
        for kind in ("", "dense_"):
            self.assertGreaterEqual(result[f"{kind}forward_bytes"], output)
            self.assertLess(result[f"{kind}forward_bytes"], scores, kind)
        self.assertGreaterEqual(result["stored_forward_bytes"], 2 * scores)  # scores and their softmax
        self.assertGreaterEqual(result["stored_forward_backward_bytes"], 2 * scores)
        for name in ("stored_forward_ms", "stored_forward_backward_ms"):
            self.assertGreater(result[name], 0, name)
        plain = weft_json(*SMALL, "--pattern", "window(9)", "--no-dense", "--rounds", "1")
        for name in ("stored_forward_ms", "stored_forward_bytes", "dense_forward_bytes", "forward_backward_bytes"):
            self.assertIsNone(plain[name], name)

    def test_scores_that_are_too_many_to_store_are_an_error(self):
        done = weft("bench", "attention", "--length", "24000", "--heads", "2", "--head-dim", "8", "--pattern", "window(9)", "--stored-scores")
        self.assert_fails(done, 1, "1152000000 of them; expected at most 1073741824")
        # Before the reference is asked, which would need a terabyte; a product beyond 64 bits is none that fits.
        for sizes, found in (
            (("--length", "2000000000", "--batch", "1", "--heads", "1"), "would have 4000000000000000000 of them"),
            (("--length", "65536", "--batch", "65536", "--heads", "65536"), "more than 9223372036854775807 of them"),
        ):
            with self.subTest(found):
                done = weft("bench", "attention", *sizes, "--pattern", "full", "--stored-scores")
                self.assert_fails(done, 1, found, "expected at most 1073741824")

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


if __name__ == "__main__":
    unittest.main()
