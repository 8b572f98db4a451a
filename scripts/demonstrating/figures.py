# SPDX-License-Identifier: Apache-2.0
"""From the scores of single tokens to how well quotations were found, by their distance."""
import bisect
import dataclasses
import json

# A reader has to see the beginning of a quotation before it can know which passage it is.
BEGINNING = 24
DISTANCES = [(0, 1000), (1000, 4000), (4000, 10000)]


@dataclasses.dataclass
class Found:
    bits: float = 0.0
    bytes: int = 0
    tokens: int = 0
    hits: int = 0

    def add(self, score):
        self.bits += score["bits"]
        self.bytes += score["end"] - score["begin"]
        self.tokens += 1
        self.hits += score["hit"]

    @property
    def bits_per_byte(self):
        return self.bits / max(self.bytes, 1)

    @property
    def percent_right(self):
        return 100 * self.hits / max(self.tokens, 1)


def read_scores(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines]


def found_by_distance(scores, quotations):
    """{(nearest, furthest): Found} of the tokens of the quotations behind their beginnings, and {None: Found} of all text outside of quotations."""
    begins = [score["begin"] for score in scores]
    result, place = {None: Found(), **{distance: Found() for distance in DISTANCES}}, 0
    for quotation in quotations:
        first = bisect.bisect_left(begins, quotation.begin)
        for score in scores[place:first]:
            result[None].add(score)
        place = bisect.bisect_left(begins, quotation.end)
        distance = next((low, high) for low, high in DISTANCES if low <= quotation.distance < high)
        for score in scores[bisect.bisect_left(begins, quotation.begin + BEGINNING):place]:
            if score["end"] <= quotation.end:
                result[distance].add(score)
    for score in scores[place:]:
        result[None].add(score)
    return result
