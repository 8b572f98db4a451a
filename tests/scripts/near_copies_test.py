#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/promoters/near_copies.py finds the groups that comparing every pair finds, in whatever order, and compares few pairs."""
import os
import pathlib
import random
import sys
import unittest
from unittest import mock

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "examples/promoters"))

import near_copies  # noqa: E402


def any_bases(draw, length, letters="ACGT"):
    return "".join(draw.choices(letters, k=length))


def every_pair(sequences):
    """What near_copies finds, by its definition."""
    groups = list(range(len(sequences)))
    runs = [near_copies.runs_of(bases) for bases in sequences]
    for later, bases in enumerate(sequences):
        for first in range(later):
            shared = len(runs[first] & runs[later])
            enough = shared and 4 * shared >= min(len(runs[later]), len(runs[first]))
            if (enough or sequences[first] == bases) and groups[first] != groups[later]:
                low, high = sorted((groups[first], groups[later]))
                groups = [low if group == high else group for group in groups]
    return groups


def repetitive_sequences(draw, count):
    """Of few distinct runs, and a few that hold some of these runs."""
    found = []
    for _ in range(count):
        word, length = any_bases(draw, draw.choice((1, 1, 2, 3))), draw.randrange(10, 90)
        found.append(draw.choice(("", any_bases(draw, draw.randrange(40)))) + (word * length)[:length] + draw.choice(("", any_bases(draw, draw.randrange(40)))))
    return found


def parts_of(sequences, groups):
    found = {}
    for bases, group in zip(sequences, groups):
        found.setdefault(group, []).append(bases)
    return sorted(map(sorted, found.values()))


def changed(bases, draw, share):
    return "".join(draw.choice("ACGT") if draw.random() < share else letter for letter in bases)


def hard_sequences(draw, count):
    """Pieces of one another, diverged repeats, letters that many end with, runs of one letter, and sequences of few letters."""
    found, ending, repeat = [], any_bases(draw, 40), any_bases(draw, 60)
    for number in range(count):
        length = draw.choice((12, 16, 20, 60, 100, 150))
        kinds = (lambda: any_bases(draw, length), lambda: any_bases(draw, length) + ending, lambda: "A" * draw.randrange(10, 60) + any_bases(draw, length),
                 lambda: any_bases(draw, 30) + changed(repeat, draw, 0.08), lambda: any_bases(draw, 4) * 20,
                 lambda: (draw.choice(found) if found else "") + any_bases(draw, draw.choice((1, 100))),
                 lambda: (draw.choice(found) if found else "")[draw.randrange(20):], lambda: changed(draw.choice(found or [ending]), draw, 0.05))
        found.append(draw.choice(kinds)() or "A")
    return found


class NearCopiesTest(unittest.TestCase):
    def test_groups_are_those_of_every_pair(self):
        alone = 0
        for seed in range(40):
            draw = random.Random(seed)
            sequences = hard_sequences(draw, 60)
            groups = near_copies.near_copies(sequences)
            self.assertEqual(groups, every_pair(sequences), seed)
            alone += len(set(groups))
        self.assertTrue(400 < alone < 2000, alone)  # of 2,400: neither all alone nor all one

    def test_the_order_does_not_matter(self):
        alone = 0
        for seed in range(40):
            draw = random.Random(seed)
            sequences = [*repetitive_sequences(draw, 25), *hard_sequences(draw, 10)]
            groups = near_copies.near_copies(sequences)
            self.assertEqual(groups, every_pair(sequences), seed)
            alone += len(set(groups))
            shuffled = draw.sample(sequences, len(sequences))
            self.assertEqual(parts_of(shuffled, near_copies.near_copies(shuffled)), parts_of(sequences, groups), seed)
        self.assertTrue(250 < alone < 1150, alone)  # of 1,400

    def test_few_runs_in_many(self):
        """All runs of the one that has fewer are in the other; a run counts once."""
        draw = random.Random(6)
        for pair in (["A" * 20, "A" * 30 + "C" * 5], ["AC" * 40, "AC" * 25 + any_bases(draw, 30)], ["A" * 16, any_bases(draw, 200) + "A" * 16]):
            self.assertEqual(near_copies.near_copies(pair), [0, 0])
            self.assertEqual(near_copies.near_copies(pair[::-1]), [0, 0])
        pair = ["A" * 60 + any_bases(draw, 60), "A" * 60 + any_bases(draw, 60)]  # 45 places in common, and one run of 61
        self.assertEqual(near_copies.near_copies(pair), [0, 1])

    def test_a_share_by_hand(self):
        """100 letters are 85 runs: of 37 letters that two share 22 runs are shared, a quarter; of 36 there are 21."""
        draw = random.Random(4)
        first = any_bases(draw, 100)
        for letters, together in ((37, True), (36, False)):
            other = first[:letters] + ("A" if first[letters] != "A" else "C") + any_bases(draw, 99 - letters)
            self.assertEqual(near_copies.near_copies([first, other]) == [0, 0], together, letters)

    def test_short_ones_are_copies_where_they_are_the_same(self):
        self.assertEqual(near_copies.near_copies(["ACGTACGT", "ACGTACGA", "ACGTACGT"]), [0, 1, 0])
        self.assertEqual(near_copies.near_copies([]), [])

    def test_what_many_share_compares_no_pairs(self):
        """An ending of 15 runs, of 111 that a sequence has, and 400 copies, of which one comparison each tells."""
        draw = random.Random(5)
        ending, copied = any_bases(draw, 30), any_bases(draw, 126)
        sequences = [any_bases(draw, 96) + ending for _ in range(400)] + [copied] * 400
        with mock.patch.object(near_copies.Groups, "are_copies", autospec=True, side_effect=near_copies.Groups.are_copies) as compared:
            groups = near_copies.near_copies(sequences)
        self.assertEqual(groups, [*range(400), *[400] * 400])
        self.assertLess(compared.call_count, 800)


if __name__ == "__main__":
    unittest.main()
