#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sparse attention gives every token of every text a number of its own, from which a feed-forward layer can look up any result: the proof that BigBird
is a universal approximator (Zaheer et al. 2020, after Yun et al. 2020), carried out for all texts of 3 or 4 numbers between 0 and 1.

Numbers are rounded down to multiples of delta and counted in units of it: token i of n begins as m i + x, where x is one of 0 to m - 1 and m = 1 / delta.
Token 0 is global: it sees all, and all see it; otherwise a token sees itself alone. One operation, the selective shift, does everything:

    a token whose number lies between two bounds gets c (largest - smallest number that it sees) added, others stay.

It is two heads of width 1: with query z - b, key z and value z a head finds the largest number where z > b, and the smallest where z < b.

    for i = 1 to n:  shift token i by K = max(m, n) times;  shift token 0 by -1 times: it goes down by what token i has become
    at last:         shift tokens 1 to n, by a number of times that is larger than what they can be

    .venv/bin/python3 examples/theory/universal.py [--picture universal.svg]
"""
import argparse
import itertools
import pathlib

import hard
import torch

STAR = "global(1) | window(left=0)"


def selective_shift(numbers, low, high, times):
    """numbers [B, 1 + n] -> the same, where those between low and high have moved by `times` the largest less the smallest number they see."""
    key = numbers[:, None, :, None].expand(-1, 2, -1, -1)
    query = torch.stack([numbers - low, numbers - high], dim=1)[..., None]
    above, below = hard.attend(query, key, key, STAR, gap=0.5)[..., 0].unbind(1)  # bounds are halves, so that products differ by 1/2 at least
    return numbers + times * (above - below)


def begin(grid, parts):
    """[B, n] of whole numbers 0 to parts - 1 -> [B, 1 + n], token 0 in front."""
    count = grid.shape[1]
    return torch.cat([torch.zeros(len(grid), 1, dtype=torch.float64), hard.whole(grid) + parts * torch.arange(1, count + 1)], dim=1)


def times_of(count, parts):
    """K: a token that was shifted is above all that were not, and what token 0 collects is a number with a digit for each token in base K + 2 > m."""
    return max(count, parts)


def most(count, parts):
    """A power of two that is above every token's number before the last shift, and below none of token 0's without its sign."""
    times, collected = times_of(count, parts), 0
    for token in range(1, count + 1):
        collected = (times + 2) * collected + (times + 1) * (parts * token + parts - 1)
    return 2 ** collected.bit_length()


def codes(grid, parts):
    """The number of each token at the end, [B, n], and how many layers of attention that took."""
    numbers, count = begin(grid, parts), grid.shape[1]
    for token in range(1, count + 1):
        low = parts * token - 0.5
        numbers = selective_shift(numbers, low, low + parts, times_of(count, parts))
        numbers = selective_shift(numbers, -most(count, parts) - 0.5, 0.5, -1)  # token 0 alone is not above nought
    numbers = selective_shift(numbers, 0.5, most(count, parts) - 0.5, most(count, parts))
    return numbers[:, 1:], 2 * count + 1


def all_grids(count, parts):
    return torch.tensor(list(itertools.product(range(parts), repeat=count)))


def count_codes(count, parts):
    """(texts, tokens, different codes, smallest distance of two, largest code, layers)."""
    grid = all_grids(count, parts)
    found, layers = codes(grid, parts)
    sorted_codes = found.flatten().unique()
    apart = (sorted_codes[1:] - sorted_codes[:-1]).min().item()
    return len(grid), found.numel(), len(sorted_codes), apart, sorted_codes[-1].item(), layers


def target(texts):
    """A function of whole texts that is continuous and is no function of each number alone: each number times the largest, less the mean."""
    return texts * texts.amax(dim=1, keepdim=True) - texts.mean(dim=1, keepdim=True)


class Lookup:
    """The feed-forward part: for each code a unit that is 1 at the code and 0 at all others, times the result in the middle of its cell."""

    def __init__(self, count, parts):
        grid = all_grids(count, parts)
        found, _ = codes(grid, parts)
        self.parts = parts
        self.codes, order = found.flatten().sort()
        self.results = target((grid + 0.5) / parts).flatten()[order]

    def __call__(self, texts):
        """[B, n] of numbers in [0, 1) -> [B, n]. A unit relu(1 - |code - c|) that is not 0 is the only one, so that it is found instead of summed."""
        found, _ = codes((texts * self.parts).floor(), self.parts)
        place = torch.searchsorted(self.codes, found.contiguous())
        assert torch.equal(self.codes[place], found), "a code that no text has"
        return self.results[place]


def error(count, parts, texts=2000):
    """(mean, largest) difference from the target, over texts drawn evenly."""
    drawn = torch.rand(texts, count, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    difference = (Lookup(count, parts)(drawn) - target(drawn)).abs()
    return difference.mean().item(), difference.max().item()


CASES = [(3, 2), (3, 4), (3, 8), (3, 16), (4, 2), (4, 4), (4, 8)]


def table():
    lines = ["| n | delta | texts | tokens | different codes | largest code | layers of attention | mean error | largest error |", "|" + " -- |" * 9]
    for count, parts in CASES:
        texts, tokens, different, _, largest, layers = count_codes(count, parts)
        mean, worst = error(count, parts)
        lines.append(f"| {count} | 1/{parts} | {texts:,} | {tokens:,} | {different:,} | {largest:,.0f} | {layers} | {mean:.4f} | {worst:.4f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", type=pathlib.Path, help="also draw the codes of all texts of three numbers")
    chosen = parser.parse_args()
    print(table())
    if chosen.picture:
        import pictures
        chosen.picture.write_text(pictures.codes(), encoding="utf-8")


if __name__ == "__main__":
    main()
