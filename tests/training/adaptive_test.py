# SPDX-License-Identifier: Apache-2.0
"""A vocabulary in clusters on the command line, and Transformer-XL directories: opened, measured, continued, trained on, written."""

import json
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from weft_program import TINY, Case, losses, weft, weft_json  # noqa: E402

RELEASED = pathlib.Path(__file__).resolve().parents[1] / "fixtures/transformer_xl/clusters"
CLUSTERS = ("--vocabulary-cutoffs", "4", "8", "--vocabulary-division", "2")
XL = ("--attention", "relative", "--position-embedding", "none", "--norm-position", "post", "--hidden-act", "relu",
      "--variant", "transformer-xl", "--memory", "16")


class AdaptiveTest(Case):
    def words(self):
        """A folder with a vocabulary of words, the frequent ones first."""
        folder = self.folder / "words"
        folder.mkdir(exist_ok=True)
        words = ["<eos>", "<unk>", "graph", "token", "query", "key", "value", "window", "stride", "block", "head", "layer"]
        (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(words)}))
        return folder

    def test_a_model_of_words_learns_resumes_and_is_used(self):
        shared = ("--tokenizer", self.words(), *CLUSTERS, *XL, "--hidden-dropout-prob", "0.1", "--context", "16",
                  "--schedule", "constant", "--warmup-ratio", "0", "--checkpoint-every", "20", "--eval-text", self.held_out)
        whole, cut = self.folder / "whole", self.folder / "cut"
        self.train("--steps", "40", *shared, out=whole)
        self.train("--steps", "20", *shared, out=cut)
        process = weft("train", "--resume", "--out", cut, "--steps", "40")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(losses(cut), losses(whole))
        self.assertEqual((cut / "model.safetensors").read_bytes(), (whole / "model.safetensors").read_bytes())
        self.assertLess(losses(whole)[-1][1], losses(whole)[0][1])
        config = json.loads((whole / "config.json").read_text())
        self.assertEqual((config["vocabulary_cutoffs"], config["vocabulary_division"]), ([4, 8], 2))
        ordinary = weft_json("eval", whole, "--text", self.held_out)["bits_per_byte"]
        text = weft_json("generate", whole, "--prompt", "graph token", "--max-new-tokens", "5", "--temperature", "0")
        self.assertEqual(len(text["generated_text"].split()), 5 + (2 if text["generated_text"].startswith("graph") else 0))
        written = self.folder / "written"
        made = weft_json("convert", whole, "--to", "transfo-xl", "--out", written)
        self.assertEqual((made["family"], made["head"]), ("transfo-xl", "decoder"))
        # A directory that is no run is computed in the type that is fast here; the run was learned in float32.
        written_bits = weft_json("eval", written, "--text", self.held_out, "--context", "16", "--dtype", "float32")["bits_per_byte"]
        self.assertAlmostEqual(written_bits, ordinary, places=5)

    def test_a_directory_of_transformers(self):
        text = self.folder / "words.txt"
        text.write_text("the graph of word1 , word2 .\nword3 word4 the word5\n" * 60)
        self.assertEqual(weft_json("info", RELEASED)["config"]["variant"], "transformer-xl")
        before = weft_json("eval", RELEASED, "--text", text)
        self.assertEqual(before["memory"], 6)
        generated = weft_json("generate", RELEASED, "--prompt", "the graph of", "--min-new-tokens", "30", "--max-new-tokens", "30", "--seed", "1")
        self.assertEqual(generated["new_tokens"], 30)
        run = self.folder / "run"
        process = weft("train", "--model", RELEASED, "--train-text", text, "--steps", "40", "--context", "16", "--batch-size", "2",
                       "--learning-rate", "0.003", "--threads", "1", "--dtype", "float32", "--out", run)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertLess(weft_json("eval", run, "--text", text)["bits_per_byte"], before["bits_per_byte"])
        damaged = self.folder / "damaged"
        shutil.copytree(RELEASED, damaged)
        config = json.loads((damaged / "config.json").read_text())
        (damaged / "config.json").write_text(json.dumps({**config, "pre_lnorm": True}))
        self.assert_fails(weft("eval", damaged, "--text", text), 1, str(damaged), "pre_lnorm")
        self.assert_fails(weft("embed", RELEASED, "a", "--json"), 1, "Transformer-XL", "weft generate")

    def test_what_does_not_go_together_says_so(self):
        def refused(*more):
            return weft("train", "--train-text", self.train_text, *TINY, "--steps", "1", "--out", self.run_directory, *more)

        self.assert_fails(refused("--vocabulary-cutoffs", "300"), 2, "--vocabulary-cutoffs", "300")
        self.assert_fails(refused("--vocabulary-cutoffs", "20", "10"), 2, "--vocabulary-cutoffs", "10")
        self.assert_fails(refused("--vocabulary-division", "2"), 2, "--vocabulary-division")
        self.assert_fails(refused("--vocabulary-cutoffs", "20", "--encoder"), 2, "decoders")
        self.assert_fails(refused("--vocabulary-cutoffs", "20", "--label-smoothing", "0.1"), 2, "--label-smoothing")
        self.assert_fails(refused("--variant", "transformer-xl"), 2, "--norm-position post")
        self.train("--steps", "1")
        self.assert_fails(weft("convert", self.run_directory, "--to", "transfo-xl", "--out", self.folder / "x"), 1, "variant")


if __name__ == "__main__":
    unittest.main()
