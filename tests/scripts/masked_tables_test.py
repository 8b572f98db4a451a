#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables of encoders that restore masked bytes: rows of one table see as many bytes, are asked for the same ones, and baselines are what they are said to
be."""
import collections
import math
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path[:0] = [str(ROOT / "examples/science"), str(ROOT / "tests/support")]

import alone  # noqa: E402
import science  # noqa: E402
from told_world import ToldWorld  # noqa: E402

# A model that restores a third.
FOUND = {"masked_accuracy": 1 / 3, "loss": math.log(8), "masked_tokens": 7}
BYTES = {"a": 6, "b": 1, "c": 1}  # of the held-out text below


def by_definition(counts, vocabulary):
    """(share restored, bits) of a scored token by what stands there, pair by pair: ids beyond those counted are never in the text."""
    pairs, shown = collections.Counter(), collections.defaultdict(list)
    for token, count in counts.items():
        pairs[token, "mask"] += 0.8 * count / sum(counts.values())
        pairs[token, token] += 0.1 * count / sum(counts.values())
        for other in [*counts, *range(vocabulary - len(counts))]:
            pairs[token, other] += 0.1 / vocabulary * count / sum(counts.values())
    for (_, seen), share in pairs.items():
        shown[seen].append(share)
    return sum(map(max, shown.values())), -sum(share * math.log2(share / sum(shares)) for shares in shown.values() for share in shares)


class MaskedTablesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-masked-")
        self.addCleanup(folder.cleanup)
        self.world = ToldWorld(pathlib.Path(folder.name), train={"evaluation": FOUND}, eval=FOUND, pattern={"average_path": 2.5, "clustering": 0.5})
        (self.world.data / "books/val").mkdir(parents=True)
        (self.world.data / "books/val/a.txt").write_text("aab")
        (self.world.data / "books/val/b.txt").write_text("caaaa")

    def rows(self, name, seed=0):
        table = science.load_table(name)
        return table, [(cell, table.run(cell, seed, self.world)) for cell in table.cells()]

    def test_bits(self):
        table, rows = self.rows("masked_bits")
        restored, bits = by_definition(BYTES, 256)
        self.assertAlmostEqual(rows[0][1]["bits"], bits)
        self.assertAlmostEqual(rows[0][1]["accuracy"], restored)
        self.assertLess(bits, 0.75 * math.log2(4 / 3) + 2 * 0.125 * 3)  # what the counts alone have
        for cell, figures in rows[1:]:
            self.assertAlmostEqual(figures["bits"], 3)
        self.assertEqual({int(context) * int(batch) for context, batch in zip(self.world.values("train", "--context"), self.world.values("train", "--batch-size"))},
                         {table.BYTES_A_STEP})
        self.assertEqual(set(self.world.values("eval", "--mask-window")), {str(table.LONGEST)})
        self.assertEqual(self.world.values("eval", "--context"), [str(cell["bytes"]) for cell, _ in rows[1:]])
        self.assertEqual(len(set(words[1] for words in self.world.asked if words[0] == "train")), len(rows) - 1)  # each row has a run of its own

    def test_graphs(self):
        table, rows = self.rows("small_world")
        self.assertAlmostEqual(rows[0][1]["restored"], 100 * by_definition(BYTES, 256)[0])
        self.assertEqual([cell["rewired"] for cell, figures in rows if figures.get("path") == 2.5], [*table.REWIRED, ""])
        self.assertEqual(self.world.values("train", "--attention"),
                         [*(f"watts_strogatz({table.DEGREE}, {rewired}, seed=layer)" for rewired in table.REWIRED), "full"])

    def test_recall(self):
        table, rows = self.rows("encoder_recall", seed=3)
        self.assertAlmostEqual(rows[0][1]["restored"], 10 + 90 / 62)  # a tenth shows itself; the others, a random one too, are any of 62 letters
        self.assertEqual(len(rows), 1 + len(table.ATTENTION))
        self.assertEqual(len(set(self.world.values("train", "--train-text"))), 1)  # all rows of a seed learn from one text
        self.assertNotEqual(self.world.values("train", "--train-text"), self.world.values("train", "--eval-text"))

    def test_what_one_knows_who_sees_a_token_alone(self):
        for counts, vocabulary in (({"a": 3}, 1), ({"a": 3, "b": 1}, 2), ({"a": 3, "b": 1}, 5), ({"a": 9000, "b": 40, "c": 1}, 256)):
            restored, bits = by_definition(counts, vocabulary)
            self.assertAlmostEqual(alone.restored(counts, vocabulary), restored)
            self.assertAlmostEqual(alone.bits(counts, vocabulary), bits)
        # What is rarer than a random token of the vocabulary is not repeated: c stands where chance put it.
        self.assertAlmostEqual(alone.restored({"a": 9999, "c": 1}, 2), 0.8 * 0.9999 + 0.1 * 0.9999 + 0.05 * 0.9999 + 0.05 * 0.9999)

    def test_a_copy_is_as_far_as_it_is_said_to_be(self):
        table = science.load_table("encoder_recall")
        text = table.texts(30, "seed")
        self.assertEqual(len(text), 30 * table.TEXT)
        self.assertEqual(text, table.texts(30, "seed"))
        self.assertNotEqual(text, table.texts(30, "other"))
        distances = set()
        for begin in range(0, len(text), table.TEXT):
            one = text[begin:begin + table.TEXT]
            distance = next(each for each in range(1, table.TEXT) if one[each:] == one[:-each])
            distances.add(distance)
            near = sum(one[place] in one[max(0, place - 16):place] for place in range(16, table.TEXT)) / (table.TEXT - 16)
            self.assertLess(near, 0.5)  # letters within what two layers of the window reach are there by chance alone
        self.assertTrue(table.WORD[0] <= min(distances) and max(distances) <= table.WORD[1])
        self.assertGreater(len(distances), 5)


if __name__ == "__main__":
    unittest.main()
