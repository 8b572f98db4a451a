# SPDX-License-Identifier: Apache-2.0
"""Copies of a sequence in which chance has changed letters, as evolution does, so that a model does not know few records by heart.

EvoAug (Lee et al. 2023) shows models of regulatory DNA such copies, and the records as they are at the end. Here a fifth of the letters is drawn anew, of
which a quarter is drawn as it was, and half a letter is removed of a copy on average and as much inserted, so that what stands there moves by a place.
"""
REDRAWN = 0.2  # share of the letters
MOVED = 0.5  # letters that are removed of a copy on average, and as many inserted
LETTERS = "ACGT"


def drawn(draw, count):
    return "".join(draw.choices(LETTERS, k=count))


def with_other_letters(bases, draw):
    return "".join(draw.choice(LETTERS) if draw.random() < REDRAWN else letter for letter in bases)


def moved(bases, draw):
    """Each letter may go, and each may have another behind it."""
    share, found = MOVED / len(bases), []
    for letter in bases:
        chance = draw.random()
        found.append("" if chance < share else letter + draw.choice(LETTERS) if chance > 1 - share else letter)
    return "".join(found)


def copy_of(bases, draw):
    """As many letters as before: what is too much is cut, and what lacks is drawn, at both ends by chance."""
    found = moved(with_other_letters(bases, draw), draw)
    begin = draw.randint(0, abs(len(found) - len(bases)))
    if len(found) >= len(bases):
        return found[begin:begin + len(bases)]
    return drawn(draw, begin) + found + drawn(draw, len(bases) - len(found) - begin)
