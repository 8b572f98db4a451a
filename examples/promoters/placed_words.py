# SPDX-License-Identifier: Apache-2.0
"""A logistic regression over words and the places where they stand: what one linear model sees of a promoter, in seconds and without a library.

Its features are words of one to three letters at their own place, of four letters within stretches of 8 places, of six within stretches of 16 (each
stretch once more, moved by half of it, so that no border hides a word), and of four and six letters anywhere. A box that stands where it should, one
that has moved a little, and the composition of a genome are all among them.
"""
import itertools
import math
import random

FORMS = ((1, 1), (2, 1), (3, 1), (4, 8), (6, 16), (4, 0), (6, 0))  # letters, places that count as one (0: all)
PASSES, RATE = 4, 2.0


def probability(odds):
    """Of the logarithm of odds."""
    return 1 / (1 + math.exp(-odds)) if odds > -700 else 0.0


def softplus(number):
    """The logarithm of 1 + exp(number)."""
    return max(number, 0.0) + math.log1p(math.exp(-abs(number)))


def words_of(text, letters, width):
    """(place, word) of every run of letters, where `width` places are one; twice where they are more than one."""
    words = [text[begin:begin + letters] for begin in range(len(text) - letters + 1)]
    if width == 0:
        return [(0, word) for word in words]
    exact = [(begin // width, word) for begin, word in enumerate(words)]
    return exact if width == 1 else exact + [(~((begin + width // 2) // width), word) for begin, word in enumerate(words)]


class PlacedWords:
    """Of two classes. Steps of gradient descent whose size falls with each pass and with how many features a text has; `seed` orders the texts."""

    def __init__(self, texts, labels, seed=0):
        if set(labels) != {0, 1}:
            raise ValueError(f"words at places need examples of both classes, found labels {sorted(set(labels))}")
        self.numbers = [{} for _ in FORMS]
        counter = itertools.count()
        rows = [self.numbered(text, counter) for text in texts]
        self.bias = math.log(sum(labels) / (len(labels) - sum(labels)))
        self.weights = [0.0] * next(counter)
        draw, order = random.Random(seed), list(range(len(rows)))
        for number in range(PASSES):
            draw.shuffle(order)
            for place in order:
                self.learn(rows[place], labels[place], RATE / (1 + number))

    def numbered(self, text, counter):
        """The features of a text by number; new ones have the next numbers of the counter."""
        found = []
        for numbers, (letters, width) in zip(self.numbers, FORMS):
            for key in words_of(text, letters, width):
                number = numbers.get(key)
                if number is None:
                    number = numbers[key] = next(counter)
                found.append(number)
        return found

    def learn(self, row, label, rate):
        weights = self.weights
        odds = self.bias + sum(map(weights.__getitem__, row))
        step = rate * (probability(odds) - label) / max(1, len(row))
        self.bias -= step
        for number in row:
            weights[number] -= step

    def score(self, text):
        """The logarithm of the odds of class 1; words that were not there to learn say nothing."""
        found = (numbers.get(key) for numbers, (letters, width) in zip(self.numbers, FORMS) for key in words_of(text, letters, width))
        return self.bias + sum(self.weights[number] for number in found if number is not None)

    def predict(self, text):
        return int(self.score(text) > 0)
