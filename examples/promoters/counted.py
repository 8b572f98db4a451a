# SPDX-License-Identifier: Apache-2.0
"""Words at their places and counts of short runs together: what is known of a promoter without a model.

Words learn how often a run is found anywhere, too, but with few records they are too little sure, and lean to the class that has more records. Three
numbers mend that: a weight of words, one of the counts, and a constant, fitted on what words and counts say of records that they did not learn from,
which are parts of the records to learn from. No record that is scored has a part in it.
"""
import naive_bayes
import placed_words
import sequences
import weighing

RUN = 4  # letters; each letter is in as many runs, so that their odds are divided by it
PARTS, ENOUGH = 5, 1000  # parts of what is learned, and records that are enough for three numbers: with many records one part or two are
USUAL, PULL = (1.0, 0.0, 0.0), 1.0  # words as they are, unless records say otherwise


class Both:
    """Words and counts, each as it learned from the examples."""

    def __init__(self, learned, seed):
        texts, labels = [each.bases for each in learned], [each.label for each in learned]
        self.words = placed_words.PlacedWords(texts, labels, seed)
        self.runs = naive_bayes.NaiveBayes(RUN, texts, labels)

    def row(self, text):
        return self.words.score(text), self.runs.score(text) / RUN, 1.0


def unseen(learned, seed):
    """(rows, labels) of words and counts on ENOUGH of the examples, or all, by those that learned from the others; near copies are in one part."""
    parts, rows, labels = sequences.folds(learned, PARTS, seed), [], []
    for number, part in enumerate(parts):
        others = [each for place, other in enumerate(parts) if place != number for each in other]
        if part and len({each.label for each in others}) == 2 and len(rows) < ENOUGH:
            both = Both(others, seed)
            rows += [both.row(each.bases) for each in part]
            labels += [each.label for each in part]
    return rows, labels


class Counted:
    """Words and counts of examples, and the weights that join them."""

    def __init__(self, learned, seed=0):
        self.both = Both(learned, seed)
        self.weights = weighing.fitted(*unseen(learned, seed), USUAL, PULL)

    def score(self, text):
        """The logarithm of the odds of class 1."""
        return weighing.odds_of(self.both.row(text), self.weights)
