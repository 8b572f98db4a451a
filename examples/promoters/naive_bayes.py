# SPDX-License-Identifier: Apache-2.0
"""Naive Bayes over all runs of k letters: what counting short words finds, which a model has to be ahead of before it is said to have read anything.

Promoters are cut at the place where transcription begins, so that each letter has a place, too; what the letters of each place tell is a second figure."""
import collections
import math


class NaiveBayes:
    """Of two classes; every run of k letters counts, with one added to each count."""

    def __init__(self, k, texts, labels):
        if set(labels) != {0, 1}:
            raise ValueError(f"naive Bayes needs examples of both classes, found labels {sorted(set(labels))}")
        self.k = k
        counts = {0: collections.Counter(), 1: collections.Counter()}
        for text, label in zip(texts, labels):
            counts[label].update(self.runs(text))
        totals = {label: self.total(counts[label], labels.count(label)) + 4**k for label in counts}
        self.unknown = math.log(totals[0] / totals[1])
        self.odds = {run: math.log((counts[1][run] + 1) / (counts[0][run] + 1)) + self.unknown for run in {*counts[0], *counts[1]}}
        self.prior = math.log(sum(labels) / (len(labels) - sum(labels)))

    def total(self, counts, examples):
        """How many runs are counted beside one that is found."""
        return sum(counts.values())

    def runs(self, text):
        return (text[begin:begin + self.k] for begin in range(len(text) - self.k + 1))

    def score(self, text):
        """The logarithm of the odds of class 1."""
        return self.prior + sum(self.odds.get(run, self.unknown) for run in self.runs(text))

    def predict(self, text):
        return int(self.score(text) > 0)


class PlacedBayes(NaiveBayes):
    """The same, where a run counts at its own place alone, from the first letter on."""

    def total(self, counts, examples):
        return examples

    def runs(self, text):
        return enumerate(super().runs(text))


def figures(predicted, labels):
    """{f1, sensitivity, specificity, accuracy, matthews} of class 1; a share of nothing is 0."""
    pairs = collections.Counter(zip(predicted, labels))
    true, false, missed, rest = pairs[1, 1], pairs[1, 0], pairs[0, 1], pairs[0, 0]
    product = (true + false) * (true + missed) * (rest + false) * (rest + missed)
    return {"f1": 2 * true / max(1, 2 * true + false + missed), "sensitivity": true / max(1, true + missed), "specificity": rest / max(1, rest + false),
            "accuracy": (true + rest) / max(1, len(labels)), "matthews": (true * rest - false * missed) / math.sqrt(product) if product else 0.0}
