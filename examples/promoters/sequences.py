# SPDX-License-Identifier: Apache-2.0
"""Promoters, sequences to tell them from, and folds that do not give the answer away.

Two kinds of negatives are made of the promoters themselves, as DeePromoter's are (Oubounyt et al. 2019): a sequence is cut into 20 parts, of which 12
are drawn anew and 8 stay.

    uniform         drawn from A, C, G and T alike: what DeePromoter does. Its parts have another composition than a genome, so that counting letters
                    finds them.
    dinucleotides   drawn letter by letter, as often after each letter as in the promoter itself.

A fold holds out whole groups: a promoter, all that was made of it, and its near copies with theirs.
"""
import bz2
import collections
import gzip
import pathlib
import random
import zlib
from typing import NamedTuple

from near_copies import near_copies

PARTS, KEPT = 20, 8
OPENERS = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open}
COMPLEMENT = str.maketrans("ACGTRYKMBVDH", "TGCAYRMKVBHD")  # of IUPAC's letters; N, S and W are their own


class Example(NamedTuple):
    bases: str
    label: int
    group: int


def lines_of(path, program="promoters"):
    """The lines of a text, plain, gzip or bzip2 by its first bytes. SystemExit, with the name of the program: no file, or none that is text."""
    path = pathlib.Path(path)
    if not path.is_file():
        raise SystemExit(f"{program}: there is no file {path}")
    with path.open("rb") as file:
        opened = OPENERS.get(file.read(2), open)
    try:
        with opened(path, "rt", encoding="utf-8-sig") as lines:
            return [line.strip() for line in lines]
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise SystemExit(f"{program}: {path} cannot be read as text: {error}") from None


def records_of(lines, path, program):
    """The records of FASTA, their lines joined."""
    records = []
    for number, line in enumerate(lines, 1):
        if line.startswith(">"):
            records.append([])
        elif line and not records:
            raise SystemExit(f"{program}: {path} line {number} is a sequence before the first line with '>'")
        elif line:
            records[-1].append(line)
    return ["".join(record) for record in records]


def read(path, program="promoters", plain=True):
    """The sequences of a FASTA file, or, where `plain` is allowed, of a file with one a line, in capitals, RNA as DNA.

    SystemExit, with the name of the program: no sequence, or another letter than IUPAC's."""
    lines = lines_of(path, program)
    fasta = not plain or any(line.startswith(">") for line in lines)
    found = [bases.upper().replace("U", "T") for bases in (records_of(lines, path, program) if fasta else filter(None, lines))]
    for number, bases in enumerate(found, 1):
        wrong = set(bases) - set("ACGTNRYSWKMBDHV")
        if not bases or wrong:
            what = repr(sorted(wrong)[0]) if wrong else "none"
            raise SystemExit(f"{program}: {path} record {number} must be letters of DNA, found {what}")
    if not found:
        raise SystemExit(f"{program}: {path} holds no sequence")
    return found


def cut(bases):
    """PARTS pieces whose lengths differ by one at most."""
    ends = [len(bases) * number // PARTS for number in range(PARTS + 1)]
    return [bases[begin:end] for begin, end in zip(ends, ends[1:])]


def uniform(draw, before, length, counts):
    return "".join(draw.choices("ACGT", k=length))


def dinucleotides(draw, before, length, counts):
    drawn = before
    for _ in range(length):
        following = counts.get(drawn[-1:]) or counts[""]
        drawn += draw.choices(list(following), weights=list(following.values()))[0]
    return drawn[len(before):]


KINDS = {"uniform": uniform, "dinucleotides": dinucleotides}


def letters_after(bases):
    """How often each letter follows each letter; under "" how often there is each."""
    counts = collections.defaultdict(collections.Counter)
    counts[""] = collections.Counter(bases)
    for first, second in zip(bases, bases[1:]):
        counts[first][second] += 1
    return counts


def redrawn(bases, kind, draw):
    """A negative made of a promoter: PARTS - KEPT of its parts are drawn anew."""
    pieces, counts = cut(bases), letters_after(bases)
    for number in sorted(draw.sample(range(PARTS), PARTS - KEPT)):
        before = pieces[number - 1][-1:] if number else ""
        pieces[number] = KINDS[kind](draw, before, len(pieces[number]), counts)
    return "".join(pieces)


def examples(promoters, others, kind, seed):
    """Promoters with label 1, negatives with label 0: a promoter each of the `kind`, or `others` where it is None; with their groups."""
    draw = random.Random(seed)
    if kind is None:
        groups = near_copies([*promoters, *others])
        labels = [1] * len(promoters) + [0] * len(others)
        return [Example(*each) for each in zip([*promoters, *others], labels, groups)]
    found = []
    for bases, group in zip(promoters, near_copies(promoters)):
        found += [Example(bases, 1, group), Example(redrawn(bases, kind, draw), 0, group)]
    return found


def folds(found, count, seed):
    """The examples in `count` parts of about one size, no group in two of them."""
    groups = collections.defaultdict(list)
    for example in found:
        groups[example.group].append(example)
    order = sorted(groups)
    random.Random(seed).shuffle(order)
    parts = [[] for _ in range(count)]
    for group in sorted(order, key=lambda group: -len(groups[group])):
        min(parts, key=len).extend(groups[group])
    return parts
