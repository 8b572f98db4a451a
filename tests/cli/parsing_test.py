# SPDX-License-Identifier: Apache-2.0
"""From bracketed trees to scores: what a model writes with --tree-labels is a tree over the words of each sentence, however little it has learned."""

import json
import random
import unittest

from weft_program import Case, weft

WORDS = ["loom", "thread", "man", "bridge", "river", "house"]


def tree(draw, depth=0):
    if depth > 2 or draw.random() < 0.4:
        return f"(NP (DT the) (NN {draw.choice(WORDS)}))"
    return f"(S {tree(draw, depth + 1)} (VP (VBZ sees) {tree(draw, depth + 1)}))"


def is_tree(line, leaves):
    """Whether the brackets fit, around these leaves."""
    opened, found = [], []
    for place, symbol in enumerate(line.split()):
        if place > 0 and not opened:
            return False
        if symbol.startswith("("):
            opened.append(symbol[1:])
        elif not symbol.startswith(")"):
            found.append(symbol)
        elif opened.pop() != symbol[1:]:
            return False
    return not opened and found == leaves


class ParsingTest(Case):
    def test_from_trees_to_scores(self):
        self.check_parser("marks")

    def test_from_trees_with_words_to_scores(self):
        self.check_parser("words")

    def check_parser(self, leaves):
        draw = random.Random(3)
        (self.folder / "train.ptb").write_text("".join(tree(draw) + "\n" for _ in range(60)), encoding="utf-8")
        self.assertEqual(weft("data", "trees", self.folder / "train.ptb", "--leaves", leaves, "--out", self.folder / "train").returncode, 0)
        run = self.folder / "parser"
        trained = weft("train", "--task", "translate", "--train-source", self.folder / "train.words", "--train-target", self.folder / "train.trees",
                       "--alignments", self.folder / "train.align", "--layers", "1", "--width", "16", "--heads", "2", "--vocabulary-size", "300", "--steps", "2", "--batch-tokens", "256",
                       "--generated-examples", "0", "--out", run)
        self.assertEqual(trained.returncode, 0, trained.stderr)
        words = (self.folder / "train.words").read_text(encoding="utf-8").splitlines()[:12]
        (self.folder / "some.words").write_text("\n".join(words) + "\n", encoding="utf-8")
        (self.folder / "some.gold").write_text("".join((self.folder / "train.gold").read_text(encoding="utf-8").splitlines(True)[:12]), encoding="utf-8")
        for beams in ("1", "3"):
            written = weft("translate", run, "--file", self.folder / "some.words", "--tree-labels", self.folder / "train.trees", "--num-beams", beams,
                           "--max-new-tokens-per-source", "8:60")
            self.assertEqual(written.returncode, 0, written.stderr)
            (self.folder / f"{beams}.txt").write_text(written.stdout, encoding="utf-8")
            lines = written.stdout.splitlines()
            self.assertEqual(len(lines), len(words))
            for line, sentence in zip(lines, words, strict=True):
                expected = sentence.split() if leaves == "words" else ["XX"] * len(sentence.split())
                self.assertTrue(is_tree(line, expected), f"{line!r} of {sentence!r}")
        short = weft("translate", run, "--file", self.folder / "some.words", "--tree-labels", self.folder / "train.trees", "--max-new-tokens", "2", "--on-error", "skip")
        self.assertEqual(short.returncode, 1, short.stderr)  # no record has a result
        for line in range(1, 11):
            self.assertIn(f"some.words' line {line}: no tree over its", short.stderr)
        scored = weft("score", "parse", self.folder / "3.txt", self.folder / "some.gold", "--linear", "--json")
        self.assertEqual(scored.returncode, 0, scored.stderr)
        self.assertEqual(json.loads(scored.stdout)["errors"], 0)

    def test_files_without_trees_are_named(self):
        (self.folder / "plain.txt").write_text("The loom weaves.\nA thread breaks.\n", encoding="utf-8")
        scored = weft("score", "parse", self.folder / "plain.txt", self.folder / "plain.txt")
        self.assertEqual(scored.returncode, 0)
        self.assertIn("none of the 2 sentences is scored", scored.stderr)


if __name__ == "__main__":
    unittest.main()
