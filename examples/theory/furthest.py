#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""For each of n unit vectors the one that is furthest from it, by attention with exact weights: one layer where all see all, ceil((n - 1) / w) on a ring.

Full attention: query -u, key u, value u. The product is largest for the furthest vector, whose value is the result.

On the ring each vector has two tokens that stand side by side. The seeker remembers its own vector and the furthest that it has met; the traveller
carries a vector on by w places a layer. In a layer a seeker looks at the w travellers behind it and at what it remembers, and keeps the furthest.

    .venv/bin/python3 examples/theory/furthest.py [--picture furthest.svg]
"""
import argparse
import math
import pathlib

import hard
import torch


def unit_vectors(count, seed=0):
    """[n, d] in any directions, d = (log2 n)^2."""
    width = math.ceil(math.log2(count) ** 2)
    return torch.nn.functional.normalize(torch.randn(count, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64), dim=1)


def opposite_neighbours(count):
    """The hardest order for the ring: the furthest vector of number 2k stands just before it on the way round, n - 1 places behind."""
    vectors = unit_vectors(count, seed=1)
    vectors[1::2] = -vectors[0:count - 1:2]
    return vectors


def answers(vectors):
    """By definition, without attention: for each row the row with the largest distance."""
    return vectors[torch.cdist(vectors, vectors, compute_mode="donot_use_mm_for_euclid_dist").argmax(dim=1)]


def gap(vectors):
    """By how much the furthest is ahead of the second, at least."""
    best = (-vectors @ vectors.T).topk(2, dim=1).values
    return (best[:, 0] - best[:, 1]).min().item()


def full(vectors):
    """One layer, n^2 edges."""
    rows = vectors[None, None]
    return hard.attend(-rows, rows, rows, "full", gap=gap(vectors))[0, 0]


def ring_pattern(reach):
    """Tokens are seeker 0, traveller 0, seeker 1, traveller 1, and so on round the circle. `summary(2, 1)` is the keys at odd places, the travellers;
    `stride(2)` joins tokens of one kind."""
    seekers = f"circle(left={2 * reach - 1}) & summary(2, 1) & !stride(2) | circle(left=0) & !summary(2, 1)"
    travellers = f"circle(left={2 * reach}) & !circle(left={2 * reach - 1}) & summary(2, 1)"
    return f"heads({seekers}, {travellers})"


def ring(vectors, reach, layers):
    """What the seekers remember after so many layers. Every layer has the same weights.

    Before a seeker has met the furthest, two that it has met may be nearly as far as each other, and it remembers a mean of them; the furthest is ahead
    of both, and so of their mean, by the gap of all vectors.
    """
    own = vectors.repeat_interleave(2, dim=0)[None]
    shown = own
    for _ in range(layers):
        key = torch.stack([shown, shown], dim=1)
        query = torch.stack([-own, torch.zeros_like(own)], dim=1)
        shown = hard.attend(query, key, key, ring_pattern(reach), gap=gap(vectors)).sum(dim=1)  # each token has edges in one head alone
    return shown[0, 0::2]


def right(found, vectors):
    """The share of positions whose answer is right, to the last bit."""
    return (found == answers(vectors)).all(dim=1).double().mean().item()


def layers_needed(count, reach):
    return math.ceil((count - 1) / reach)


def met(count, reach, layers):
    """The share of the other vectors that a seeker has met."""
    return min(1.0, reach * layers / (count - 1))


UP = "share of the furthest vectors found, n = 64"
CASES = [(32, 1), (32, 4), (64, 8), (64, 9), (128, 16)]


def table():
    lines = ["| n | d | w | layers | right | one layer fewer: right | in the hardest order | full attention, one layer: right |", "|" + " -- |" * 8]
    for count, reach in CASES:
        vectors, hardest, layers = unit_vectors(count), opposite_neighbours(count), layers_needed(count, reach)
        shares = [right(ring(vectors, reach, layers), vectors), right(ring(vectors, reach, layers - 1), vectors),
                  right(ring(hardest, reach, layers - 1), hardest), right(full(vectors), vectors)]
        lines.append(f"| {count} | {vectors.shape[1]} | {reach} | {layers} | " + " | ".join(f"{100 * share:.1f}%" for share in shares) + " |")
    return "\n".join(lines)


def curves(count=64, reaches=(1, 2, 4, 8, 16)):
    """{name: [(layers, share right)]} of rings of several widths, until all is right."""
    vectors = unit_vectors(count)
    return {f"w = {reach}, {layers_needed(count, reach)} layers": [(layers, right(ring(vectors, reach, layers), vectors))
                                                                  for layers in range(1, layers_needed(count, reach) + 1)] for reach in reaches}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", type=pathlib.Path, help="also draw the share that is right by layers")
    chosen = parser.parse_args()
    print(table())
    if chosen.picture:
        import plot
        chosen.picture.write_text(plot.lines(curves(), "layers", UP, even=True), encoding="utf-8")


if __name__ == "__main__":
    main()
