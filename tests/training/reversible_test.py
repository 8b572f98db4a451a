# SPDX-License-Identifier: Apache-2.0
"""Reversible residual connections, axial positions and a feed-forward in chunks on the command line."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from weft_program import Case, losses, weft, weft_json  # noqa: E402

DEEP = ("--residual", "reversible", "--position-embedding", "axial", "--no-tie-word-embeddings")


class ReversibleTest(Case):
    def test_a_resumed_run_equals_one_never_stopped(self):
        shared = (*DEEP, "--hidden-dropout-prob", "0.1", "--attention-probs-dropout-prob", "0.1", "--feed-forward-chunk", "20",
                  "--gradient-accumulation", "2", "--checkpoint-every", "3", "--schedule", "constant", "--warmup-ratio", "0")
        self.train("--steps", "9", *shared, out=self.folder / "whole")
        self.train("--steps", "6", *shared, out=self.folder / "cut")
        process = weft("train", "--resume", "--out", self.folder / "cut", "--steps", "9")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(losses(self.folder / "cut"), losses(self.folder / "whole"))
        weights = [(self.folder / run / "model.safetensors").read_bytes() for run in ("cut", "whole")]
        self.assertEqual(weights[0], weights[1])
        config = json.loads((self.folder / "cut/config.json").read_text())
        self.assertEqual([config[name] for name in ("residual", "position_embedding", "chunk_size_feed_forward")],
                         ["reversible", "axial", 20])

    def test_chunks_change_rounding_only_and_all_positions_can_be_used(self):
        found = []
        for chunk in ("0", "7"):
            out = self.folder / f"chunk-{chunk}"
            self.train("--steps", "4", *DEEP, "--axial-pos-shape", "8", "9", "--axial-pos-embds-dim", "8", "24",
                       "--max-position-embeddings", "70", "--feed-forward-chunk", chunk, out=out)
            found.append(losses(out))
        for (_, one), (_, other) in zip(*found):
            self.assertAlmostEqual(one, other, places=4)
        self.assertEqual(weft_json("eval", out, "--text", self.held_out, "--context", "72")["context"], 72)
        self.assert_fails(weft("eval", out, "--text", self.held_out, "--context", "73"), 2, "--context must be at most 72")
        prompt = ("--prompt", "graph of words", "--max-new-tokens", "40", "--temperature", "0")
        self.assertEqual(weft_json("generate", out, *prompt)["new_tokens"], 40)
        self.assert_fails(weft("generate", out, "--prompt", "a" * 73, "--max-new-tokens", "1", "--json"), 2, "72")

    def test_what_cannot_be_is_refused(self):
        def refused(*more):
            return weft(*self.train_arguments(self.run_directory, "--steps", "1", *more))

        self.assert_fails(refused("--residual", "reversible", "--norm-position", "post"), 2, "--residual", "--norm-position pre")
        self.assert_fails(refused("--residual", "reversible", "--gradient-checkpointing"), 2, "--gradient-checkpointing")
        self.assert_fails(refused("--position-embedding", "axial", "--axial-pos-shape", "2", "3"), 2, "--axial-pos-shape", "6")
        self.assert_fails(refused("--axial-pos-shape", "64", "64"), 2, "--axial-pos-shape", "rotary")


if __name__ == "__main__":
    unittest.main()
