# SPDX-License-Identifier: Apache-2.0
"""Vocabularies learned from text and genomes, used by a training run; data sets checked before anything trains on them."""

import gzip
import json
import random
import unittest

from weft_program import Case, weft, weft_json


class TokenizerTest(Case):
    def setUp(self):
        super().setUp()
        draw = random.Random(2)
        genome = "".join(draw.choice("ACGT") for _ in range(30000))
        self.genome = self.folder / "genome.fa.gz"
        with gzip.open(self.genome, "wt") as file:
            file.write(">chr1 all of it\n" + genome[:15000].lower() + "\n" + genome[15000:] + "\n")

    def test_a_vocabulary_is_learned_and_trained_with(self):
        for kind in ("bpe", "unigram"):
            out = self.folder / kind
            found = weft_json("tokenizer", "train", self.train_text, "--kind", kind, "--vocabulary-size", 300, "--out", out)
            self.assertLessEqual(found["vocabulary_size"], 300)
            # Ten words make most of the text; a piece of the unigram model must be in two different words.
            self.assertGreater(found["bytes_per_token"], 3.0 if kind == "bpe" else 1.0)
            self.assertEqual(found["skipped"], 0)
            places = weft_json("tokenize", out, "graph  token")["result"][0]["offset_mapping"]
            self.assertEqual((places[0], places[-1]), ([0, 0], [0, 0]))
            letters = [letter for begin, end in places for letter in range(begin, end)]
            self.assertEqual(letters, [place for place, letter in enumerate("graph  token") if letter != " "])
            run = self.folder / f"run-{kind}"
            self.train("--steps", "3", "--tokenizer", str(out), "--eval-text", str(self.held_out), out=run)
            self.assertTrue((run / "tokenizer.json").exists())
            text = weft("generate", run, "--prompt", "graph", "--max-new-tokens", "5", "--seed", "1")
            self.assertEqual(text.returncode, 0, text.stderr)

    def test_dna_has_tokens_of_many_bases(self):
        out = self.folder / "dna"
        found = weft_json("tokenizer", "train", self.genome, "--dna", "--vocabulary-size", 600, "--out", out)
        self.assertGreater(found["bytes_per_token"], 3.0)
        tokens = json.loads((out / "tokenizer.json").read_text())["model"]["vocab"]
        self.assertTrue(any(len(token) >= 4 and set(token) <= set("ACGT") for token in tokens))
        documents = self.folder / "documents.txt"
        cut = weft_json("data", "genome", self.genome, "--out", documents, "--copies", 2)
        self.assertEqual(cut["sequences"], 1)
        text = documents.read_text()
        self.assertEqual(sum(len(line) for line in text.splitlines()), 60000)
        self.assertEqual(text.count("\n\n"), cut["documents"])
        gap = self.folder / "gap.fa"
        gap.write_text(">a\nNNNN\n")
        self.assert_fails(weft("data", "genome", gap, "--out", self.folder / "none"), 1, "gap.fa' holds no base: all letters are gaps (N)")
        self.assertFalse((self.folder / "none").exists())
        run = self.folder / "genome-run"
        arguments = ["train", "--encoder", "--train-text", documents, "--tokenizer", out, "--mask-probability", "0.1",
                     "--attention", "full", "--context", "32", "--batch-size", "2", "--layers", "1", "--width", "32", "--heads", "2",
                     "--steps", "3", "--out", run]
        for masking in ("tokens", "words", "spans"):
            objective = ["--span-boundary-objective", "--bpe-dropout", "0.1"] if masking == "spans" else []
            process = weft(*arguments[:-1], self.folder / masking, "--masking", masking, *objective)
            self.assertEqual(process.returncode, 0, process.stderr)

    def test_what_cannot_be_learned_is_refused(self):
        taken = weft("tokenizer", "train", self.train_text, "--out", self.folder)
        self.assert_fails(taken, 2, "exists")
        (self.folder / "bad.txt").write_bytes(b"good line\n\xff\nmore\n")
        broken = weft("tokenizer", "train", self.folder / "bad.txt", "--out", self.folder / "new")
        self.assert_fails(broken, 1, "bad.txt' line 2", "UTF-8")
        (self.folder / "empty.txt").write_bytes(b"")
        self.assert_fails(weft("tokenizer", "train", self.folder / "empty.txt", "--vocabulary-size", 300, "--out", self.folder / "x"), 1, "empty.txt", "no text")
        self.assertFalse((self.folder / "new").exists())
        found = weft_json("tokenizer", "train", self.folder / "bad.txt", "--vocabulary-size", 261, "--on-error", "skip", "--out",
                          self.folder / "new")
        self.assertEqual((found["records"], found["skipped"]), (2, 1))

    def test_a_size_that_the_text_does_not_have_and_a_genome_that_is_none_are_said(self):
        (self.folder / "few.txt").write_text("one two\n")
        few = weft("tokenizer", "train", self.folder / "few.txt", "--vocabulary-size", "99999", "--dna", "--out", self.folder / "few")
        self.assertEqual(few.returncode, 0, few.stderr)
        self.assertIn("the text has no more than 261 tokens to learn, fewer than --vocabulary-size 99,999", few.stderr)
        self.assertIn("perhaps no genome", few.stderr)
        genome = weft("tokenizer", "train", self.genome, "--dna", "--vocabulary-size", "300", "--out", self.folder / "silent")
        self.assertNotIn("warning", genome.stderr)

    def test_data_sets_are_checked(self):
        table = self.folder / "t.tsv"
        table.write_text("text\tlabel\na\t1\nb\nc\t0\n")
        self.assert_fails(weft("data", "check", table, "--format", "tsv"), 1, "t.tsv' line 3", "2 fields")
        found = weft_json("data", "check", table, "--format", "tsv", "--on-error", "skip")
        self.assertEqual((found["records"], found["skipped"]), (2, 1))
        self.assertIn("line 3", found["first_skipped"])
        self.assertEqual(weft_json("data", "check", self.genome, "--format", "fasta")["records"], 1)
        self.assert_fails(weft("data", "check", self.folder / "none"), 1, "none")


if __name__ == "__main__":
    unittest.main()
