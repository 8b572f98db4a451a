# SPDX-License-Identifier: Apache-2.0
"""Signs of life where there is no terminal, and text that is tokenised once."""

import json
import random
import unittest

from weft_program import Case, environment, losses, weft


class LogTest(Case):
    def test_a_run_without_a_terminal_tells_steps_losses_evaluations_and_checkpoints(self):
        arguments = self.train_arguments(self.run_directory, "--steps", "6", "--eval-text", self.held_out, "--eval-every", "3",
                                         "--checkpoint-every", "2")
        process = weft(*arguments, env=environment(WEFT_PROGRESS_SECONDS="0"))
        self.assertEqual(process.returncode, 0, process.stderr)
        lines = [line for line in process.stderr.splitlines() if line.startswith("weft: ")]
        steps = [line for line in lines if line.startswith("weft: training ")]
        logged = dict(losses(self.run_directory))
        for step in range(1, 7):
            self.assertTrue(any(f"  step {step}  loss {logged[step]:.3f}" in line for line in steps), process.stderr)
        for step in (2, 4, 6):
            self.assertIn(f"weft: checkpoint after step {step}", lines)
        evaluations = [json.loads(line) for line in (self.run_directory / "metrics.jsonl").read_text().splitlines()]
        for entry in (entry for entry in evaluations if "eval" in entry):
            bits = entry["eval"]["bits_per_byte"]
            self.assertTrue(any(line.startswith(f"weft: evaluation after step {entry['step']}: bits_per_byte {bits:.4f}") for line in lines),
                            process.stderr)

    def test_evaluations_and_checkpoints_are_told_at_any_rate_and_nothing_where_bars_are_off(self):
        process = self.train("--steps", "2", "--eval-text", self.held_out)
        self.assertIn("weft: evaluation after step 2: ", process.stderr)
        self.assertIn("weft: checkpoint after step 2", process.stderr)
        quiet = weft(*self.train_arguments(self.folder / "quiet", "--steps", "2", "--eval-text", self.held_out),
                     env=environment(HF_HUB_DISABLE_PROGRESS_BARS="1", WEFT_PROGRESS_SECONDS="0"))
        self.assertEqual(quiet.returncode, 0, quiet.stderr)
        self.assertNotIn("weft: ", quiet.stderr)

    def test_long_work_of_other_commands_shows_itself(self):
        lively = environment(WEFT_PROGRESS_SECONDS="0")
        self.train("--steps", "1")
        for part, arguments in (("reading", ["tokenizer", "train", self.train_text, "--vocabulary-size", "300", "--out", self.folder / "bpe"]),
                                ("learning a vocabulary", ["tokenizer", "train", self.train_text, "--vocabulary-size", "300", "--out",
                                                           self.folder / "again"]),
                                ("evaluating", ["eval", self.run_directory, "--text", self.held_out]),
                                ("checking", ["data", "check", self.train_text]),
                                ("measuring the graph", ["pattern", "stats", "bigbird", "--length", "512"])):
            process = weft(*arguments, env=lively)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertIn(f"weft: {part}", process.stderr)


class TokenCacheTest(Case):
    def setUp(self):
        super().setUp()
        draw = random.Random(2)
        letters = "abcdefgh"
        words = ["".join(draw.choice(letters) for _ in range(draw.randint(2, 9))) for _ in range(500)]
        lines = [" ".join(draw.choice(words) for _ in range(12)) for _ in range(19000)]
        self.train_text.write_text("\n".join(lines))
        self.assertGreater(self.train_text.stat().st_size, 1 << 20)
        self.tokenizer = self.folder / "tokenizer"
        process = weft("tokenizer", "train", self.train_text, "--vocabulary-size", "400", "--max-bytes", "100000", "--out", self.tokenizer)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.cache = self.folder / "cache"

    def train_with_cache(self, out, *more):
        arguments = self.train_arguments(self.folder / out, "--steps", "2", "--tokenizer", self.tokenizer, *more)
        process = weft(*arguments, env=environment(WEFT_CACHE=str(self.cache), WEFT_CACHE_GB="1"))
        self.assertEqual(process.returncode, 0, process.stderr)
        return process.stderr

    def test_a_text_is_tokenised_once(self):
        self.assertIn("the tokens are kept for later runs", self.train_with_cache("first"))
        entries = list((self.cache / "tokens").iterdir())
        self.assertEqual(len(entries), 1)
        self.assertIn("the text was tokenised before", self.train_with_cache("second"))
        self.assertEqual(losses(self.folder / "second"), losses(self.folder / "first"))
        # Other tokens of the same text each time: drawn from the same kept tokens.
        self.assertIn("the text was tokenised before", self.train_with_cache("drawn", "--bpe-dropout", "0.2"))
        self.assertNotEqual(losses(self.folder / "drawn"), losses(self.folder / "first"))
        # A resumed run takes them, too.
        process = weft("train", "--resume", "--out", self.folder / "second", env=environment(WEFT_CACHE=str(self.cache), WEFT_CACHE_GB="1"))
        self.assertIn("the text was tokenised before", process.stderr)

    def test_a_damaged_entry_is_made_again(self):
        self.train_with_cache("first")
        entry = next((self.cache / "tokens").iterdir())
        whole = entry.read_bytes()
        entry.write_bytes(whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:])
        said = self.train_with_cache("second")
        self.assertRegex(said, "warning: the cached tokens .*tokenised again")
        self.assertEqual(losses(self.folder / "second"), losses(self.folder / "first"))
        self.assertEqual(entry.read_bytes(), whole)

    def test_without_a_place_the_run_goes_on(self):
        self.cache.write_text("no folder")
        self.assertRegex(self.train_with_cache("run"), "warning: cannot keep the tokens for later runs: .*WEFT_CACHE")


if __name__ == "__main__":
    unittest.main()
