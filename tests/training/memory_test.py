# SPDX-License-Identifier: Apache-2.0
"""Transformer-XL on the command line: training with a memory, going on with it, other memories in evaluation, generation."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from weft_program import Case, losses, weft, weft_json  # noqa: E402

RELATIVE = ("--attention", "relative", "--position-embedding", "none")


class MemoryTest(Case):
    def train_with_memory(self, out, *more):
        return self.train("--memory", "48", *RELATIVE, "--hidden-dropout-prob", "0.1", *more, out=self.folder / out)

    def test_a_resumed_run_equals_one_never_stopped(self):
        for parts in ("1", "2"):
            whole, cut = f"whole-{parts}", f"cut-{parts}"
            # 9 steps pass the end of an epoch of this text (6 or 3 segments), where memories begin anew.
            shared = ("--batch-size", "60", "--gradient-accumulation", parts, "--checkpoint-every", "3", "--schedule",
                      "constant", "--warmup-ratio", "0")
            self.train_with_memory(whole, "--steps", "9", *shared)
            self.train_with_memory(cut, "--steps", "6", *shared)
            process = weft("train", "--resume", "--out", self.folder / cut, "--steps", "9")
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertEqual(losses(self.folder / cut), losses(self.folder / whole))
            for name in ("model.safetensors", "checkpoints/step-9/memory.safetensors"):
                self.assertEqual((self.folder / cut / name).read_bytes(), (self.folder / whole / name).read_bytes(), name)
            self.assertFalse((self.folder / cut / "memory.safetensors").exists(), "a memory is no part of a model")

    def test_evaluation_and_generation_choose_their_memory(self):
        self.train_with_memory("run", "--steps", "20", "--eval-text", self.held_out)
        run = self.folder / "run"
        self.assertEqual(json.loads((run / "config.json").read_text())["memory_length"], 48)
        figures = {}
        for memory in ("-1", "0", "1", "500"):
            found = weft_json("eval", run, "--text", self.held_out, "--context", "16", "--memory", memory)
            self.assertEqual(found.get("memory"), {"-1": 48, "0": None}.get(memory, int(memory)))
            figures[memory] = found["bits_per_byte"]
        self.assertEqual(len(set(figures.values())), 4)
        # A memory of the whole text gives the same figure in segments of any length.
        whole = self.held_out.stat().st_size
        each = [weft_json("eval", run, "--text", self.held_out, "--context", length, "--memory", whole)["bits_per_byte"]
                for length in ("7", "64", whole)]
        self.assertLess(max(each) - min(each), 1e-5)
        self.assertIn("tokens before each segment", weft("eval", run, "--text", self.held_out).stdout)
        scores = self.folder / "scores.jsonl"
        found = weft_json("eval", run, "--text", self.held_out, "--context", "16", "--token-scores", scores)
        lines = [json.loads(line) for line in scores.read_text().splitlines()]
        self.assertAlmostEqual(sum(line["bits"] for line in lines) / found["bytes"], found["bits_per_byte"], places=6)
        prompt = ("--prompt", "graph of words", "--max-new-tokens", "40", "--temperature", "0")
        texts = [weft_json("generate", run, *prompt, "--memory", memory)["generated_text"] for memory in ("1", "0", "100")]
        self.assertEqual(texts[1], texts[2], "nothing is forgotten")
        long = weft_json("generate", run, "--prompt", "graph", "--max-new-tokens", "300", "--seed", "3")
        self.assertEqual(long["new_tokens"], 300)

    def test_what_leaves_the_memory_may_be_compressed(self):
        shared = ("--memory", "9", *RELATIVE, "--hidden-dropout-prob", "0.1", "--compressed-memory", "6", "--compression-rate", "4",
                  "--batch-size", "20", "--checkpoint-every", "1", "--schedule", "constant", "--warmup-ratio", "0")
        self.train("--steps", "5", *shared, out=self.folder / "whole")
        self.train("--steps", "3", *shared, out=self.folder / "cut")
        process = weft("train", "--resume", "--out", self.folder / "cut", "--steps", "5")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(losses(self.folder / "cut"), losses(self.folder / "whole"))
        for name in ("model.safetensors", "checkpoints/step-5/memory.safetensors"):
            self.assertEqual((self.folder / "cut" / name).read_bytes(), (self.folder / "whole" / name).read_bytes(), name)
        run = self.folder / "whole"
        text = ("--text", self.held_out, "--threads", "1")
        # Segments end where they ended in training, however many tokens are scored at once.
        each = [weft_json("eval", run, *text, "--context", length)["bits_per_byte"] for length in ("7", "64", "500")]
        self.assertLess(max(each) - min(each), 1e-5)
        more = weft_json("eval", run, *text, "--memory", "12", "--compressed-memory", "50")
        self.assertGreater(abs(more["bits_per_byte"] - each[0]), 1e-6)
        self.assertEqual((more["memory"], more["compressed_memory"]), (12, 50))
        self.assertIn("6 rows before the memory", weft("eval", run, *text).stdout)
        made = weft_json("generate", run, "--prompt", "graph", "--max-new-tokens", "300", "--compressed-memory", "2", "--seed", "3",
                         "--threads", "1")
        self.assertEqual(made["new_tokens"], 300)
        beams = ("generate", run, "--prompt", "graph of words", "--max-new-tokens", "90", "--num-beams", "2", "--threads", "1")
        self.assertEqual(weft(*beams).returncode, 0)
        plain = self.folder / "plain"
        self.train_with_memory("plain", "--steps", "1")
        for command in (("eval", plain, "--text", self.held_out), ("generate", plain, "--prompt", "a")):
            self.assert_fails(weft(*command, "--compressed-memory", "9"), 1, "--compressed-memory", "not trained with")
        self.assert_fails(weft("convert", run, "--to", "transfo-xl", "--out", self.folder / "released"), 1, "transfo-xl")
        self.assert_fails(weft(*self.train_arguments(self.folder / "none", "--steps", "1", "--compressed-memory", "8")), 2,
                          "--compressed-memory", "--memory is 0")

    def test_a_prompt_without_room_is_not_printed(self):
        self.train("--steps", "1", "--position-embedding", "learned")
        process = weft("generate", self.run_directory, "--prompt", "graph", "--max-new-tokens", "5000")
        self.assert_fails(process, 2, "positions of the decoder")
        self.assertEqual(process.stdout, "")

    def test_what_has_no_memory_says_so(self):
        def refused(*more):
            return weft(*self.train_arguments(self.run_directory, "--steps", "1", "--memory", "8", *more))

        self.assert_fails(refused("--attention", "window(8) | global(1)"), 2, "memory", "`window(8) | global(1)`", "relative")
        self.assert_fails(refused("--attention", "window(8)"), 2, "--memory", "none or alibi", "rotary")
        self.assert_fails(refused("--attention", "relative"), 2, "--position-embedding none")
        self.assert_fails(refused(*RELATIVE, "--encoder"), 2, "decoder")
        self.train("--steps", "1")
        self.assert_fails(weft("eval", self.run_directory, "--text", self.held_out, "--memory", "9"), 1, "--memory", "none or alibi", "rotary")
        self.assert_fails(weft("generate", self.run_directory, "--prompt", "a", "--memory", "9"), 1, "--memory", "none or alibi", "rotary")


if __name__ == "__main__":
    unittest.main()
