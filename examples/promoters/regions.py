# SPDX-License-Identifier: Apache-2.0
"""Regions of a genome in BED: tab, chromosome, begin, end (from 0, the end excluded); and pieces of the genome that touch none of them, which are the
honest negatives where a genome and the places of its promoters are at hand.
"""
import random

import sequences


def chromosomes(path):
    """{name: bases} of a FASTA file; the name is the first word behind '>'. SystemExit where a name is there twice or no record begins."""
    found, name = {}, None
    for number, line in enumerate(sequences.lines_of(path), 1):
        if line.startswith(">"):
            name = (line[1:].split() or [""])[0]
            if not name or name in found:
                raise SystemExit(f"promoters: {path} line {number}: a record needs a name of its own, found {name!r}")
            found[name] = []
        elif line and name is None:
            raise SystemExit(f"promoters: {path} line {number} is a sequence before the first line with '>'")
        elif line:
            found[name].append(line.upper().replace("U", "T"))
    if not found:
        raise SystemExit(f"promoters: {path} holds no sequence")
    return {name: "".join(lines) for name, lines in found.items()}


def number_in(text, where, what):
    if not (text.isascii() and text.isdigit()):
        raise SystemExit(f"promoters: {where}: {what} must be a whole number, found {text!r}")
    return int(text)


def read_bed(path, genome):
    """[(chromosome, begin, end)], each within a chromosome of the genome. SystemExit names the line that is none, or says that there is none at all."""
    found = []
    for number, line in enumerate(sequences.lines_of(path), 1):
        is_setting = line.split()[:1] in (["track"], ["browser"]) and line.split("\t")[0] not in genome  # of a genome browser
        if not line or line.startswith("#") or is_setting:
            continue
        fields, where = line.split("\t"), f"{path} line {number}"
        if len(fields) < 3:
            raise SystemExit(f"promoters: {where}: expected chromosome, begin and end with tabs between them, found {len(fields)} fields")
        name, begin, end = fields[0], number_in(fields[1], where, "the begin"), number_in(fields[2], where, "the end")
        if name not in genome:
            raise SystemExit(f"promoters: {where}: the genome has no chromosome {name!r}")
        if not begin < end <= len(genome[name]):
            raise SystemExit(f"promoters: {where}: expected begin < end <= {len(genome[name])}, the length of {name}, found {begin} and {end}")
        found.append((name, begin, end))
    if not found:
        raise SystemExit(f"promoters: {path} holds no region, so that every piece of the genome could be a promoter")
    return found


def outside(genome, regions, length, count, seed):
    """`count` pieces of `length` letters of A, C, G and T that touch no region. SystemExit where a genome has hardly any."""
    draw, taken = random.Random(seed), {name: sorted((begin, end) for other, begin, end in regions if other == name) for name in genome}
    names, found = [name for name in genome if len(genome[name]) >= length], []
    if not names:
        raise SystemExit(f"promoters: the genome has no chromosome of {length} letters")
    weights = [len(genome[name]) for name in names]
    for _ in range(1000 * count):
        name = draw.choices(names, weights=weights)[0]
        begin = draw.randrange(len(genome[name]) - length + 1)
        piece = genome[name][begin:begin + length]
        if set(piece) <= set("ACGT") and not any(first < begin + length and begin < last for first, last in taken[name]):
            found.append(piece)
            if len(found) == count:
                return found
    raise SystemExit(f"promoters: found {len(found)} of {count} pieces of {length} letters outside of the regions")
