# SPDX-License-Identifier: Apache-2.0
"""Pieces of a genome with motifs planted far apart: how far a model reads, where what it has to find is known.

A label has two motifs of 12 bases, one in the middle of a piece and one at a distance, and applies where both are there. Each is planted in half of the
pieces, whatever the other: a quarter has the label. Who sees the middle alone knows one of two motifs, and its ROC-AUC is at most 5/6; who sees both
has 1; who sees neither 1/2. Motifs begin where a word of six bases begins, so that a motif is two words: the task is to reach them, not to find where
words begin.
"""
import random
import sys
from typing import NamedTuple

WORD, MOTIF_WORDS = 6, 2
# Words from the middle, nearest and farthest, for the second motif of each group; the first is always within NEAR.
NEAR = (0, 19)
GROUPS = {"near": NEAR, "middle": (40, 80), "far": (170, 335)}
LABELS_OF_GROUP = 3
WORDS = 682


class Piece(NamedTuple):
    words: list
    labels: set


def label_names():
    return [f"{group}_{number}" for group in GROUPS for number in range(LABELS_OF_GROUP)]


def motifs(seed):
    """{label: (the words of its first motif, those of its second)}, no two alike."""
    draw, taken, found = random.Random(f"motifs {seed}"), set(), {}
    for name in label_names():
        pair = []
        while len(pair) < 2:
            motif = "".join(draw.choices("ACGT", k=WORD * MOTIF_WORDS))
            if motif not in taken:
                taken.add(motif)
                pair.append([motif[begin:begin + WORD] for begin in range(0, len(motif), WORD)])
        found[name] = tuple(pair)
    return found


def place(draw, words, motif, distances, taken):
    """Plants a motif at a free place that lies so many words before or behind the middle."""
    while True:
        begin = WORDS // 2 + draw.choice((-1, 1)) * draw.randint(*distances)
        places = range(begin, begin + MOTIF_WORDS)
        if places[0] >= 0 and places[-1] < WORDS and taken.isdisjoint(places):
            taken.update(places)
            words[begin:begin + MOTIF_WORDS] = motif
            return


def planted(draw, bases, found):
    words, labels, taken = [sys.intern(bases[begin:begin + WORD]) for begin in range(0, len(bases), WORD)], set(), set()
    for name, (first, second) in found.items():
        has = draw.random() < 0.5, draw.random() < 0.5
        if has[0]:
            place(draw, words, first, NEAR, taken)
        if has[1]:
            place(draw, words, second, GROUPS[name.partition("_")[0]], taken)
        if all(has):
            labels.add(name)
    return Piece(words, labels)


def pieces(genome, count, found, seed):
    """`count` pieces of `genome`, letters of A, C, G and T, from places that are drawn. SystemExit where it is shorter than a piece."""
    length, draw = WORD * WORDS, random.Random(seed)
    if len(genome) < length:
        raise SystemExit(f"planted: a genome of {length} bases or more is needed, found {len(genome)}")
    result = []
    for _ in range(1000 * count):
        begin = draw.randrange(len(genome) - length + 1)
        bases = genome[begin:begin + length]
        if set(bases) <= set("ACGT"):
            result.append(planted(draw, bases, found))
        if len(result) == count:
            return result
    raise SystemExit(f"planted: found {len(result)} of {count} pieces of {length} letters of A, C, G and T")


def middle(words, count):
    """The `count` words around the middle."""
    begin = (len(words) - count) // 2
    return words[begin:begin + count]


def table(found, count):
    """The pieces, cut to `count` words, as a table with a column of 0 and 1 for each label."""
    names = label_names()
    rows = ("\t".join([" ".join(middle(piece.words, count)), *(str(int(name in piece.labels)) for name in names)]) for piece in found)
    return "\n".join(["\t".join(["text", *names]), *rows]) + "\n"


def area(scores, labels):
    """ROC-AUC: how often a piece with the label scores above one without it, a tie counting half; None where one of them is missing."""
    ranks, place = {}, 0
    order = sorted(scores)
    while place < len(order):
        end = place
        while end < len(order) and order[end] == order[place]:
            end += 1
        ranks[order[place]] = (place + 1 + end) / 2
        place = end
    positive = sum(labels)
    negative = len(labels) - positive
    if not positive or not negative:
        return None
    return (sum(ranks[score] for score, label in zip(scores, labels) if label) - positive * (positive + 1) / 2) / (positive * negative)
