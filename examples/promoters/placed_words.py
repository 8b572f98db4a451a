# SPDX-License-Identifier: Apache-2.0
"""A logistic regression over words and the places where they stand: what one linear model sees of a promoter, in seconds and without a library.

Its features are words of one to three letters at their own place, of four letters within stretches of 8 places, of six within stretches of 16 (each
stretch once more, moved by half of it, so that no border hides a word), and of four and six letters anywhere. A box that stands where it should, one
that has moved a little, and the composition of a genome are all among them.
"""
import array
import functools
import itertools
import math
import operator
import random

import weighing

FORMS = ((1, 1), (2, 1), (3, 1), (4, 8), (6, 16), (4, 0), (6, 0))  # letters, places that count as one (0: all)
PASSES, SEEN, RATE = 4, 4000, 2.0  # passes at least, and texts that all passes together see at least


@functools.cache
def codes_of(letters):
    """{word: its number} of the words of so many letters."""
    return {"".join(word): number for number, word in enumerate(itertools.product("ACGT", repeat=letters))}


class Form:
    """Words of so many letters, each within `width` places (0: all); `moved`: stretches are moved by so many. Its features are numbered from `begin` on,
    those of `places` words to `end`."""

    def __init__(self, letters, width, moved, begin, places):
        self.letters, self.codes = letters, codes_of(letters)
        stretches = -(-(places + moved) // width) if width else 1
        self.end = begin + len(self.codes) * stretches
        begins = (begin + len(self.codes) * ((place + moved) // width) for place in range(stretches * width - moved))
        self.begins = array.array("Q", begins) if width else itertools.repeat(begin)

    def features(self, words):
        """Numbers of the words of a text in order, which are all of A, C, G and T."""
        return map(operator.add, self.begins, map(self.codes.__getitem__, words))

    def known(self, words):
        """The same where some words have other letters: without them."""
        return [begin + self.codes[word] for begin, word in zip(self.begins, words) if word in self.codes]


def forms_of(places):
    """FORMS for texts of at most so many letters; a form whose stretches are longer than a place is there twice."""
    found, end = [], 0
    for letters, width in FORMS:
        for moved in (0, width // 2) if width > 1 else (0,):
            found.append(Form(letters, width, moved, end, max(0, places - letters + 1)))
            end = found[-1].end
    return found


def passes_for(count):
    """Few texts are passed more often, so that there are enough steps."""
    return max(PASSES, round(SEEN / count))


class PlacedWords:
    """Of two classes. Steps of gradient descent whose size falls with each pass and with how many features a text has; `seed` orders the texts."""

    def __init__(self, texts, labels, seed=0):
        if set(labels) != {0, 1}:
            raise ValueError(f"words at places need examples of both classes, found labels {sorted(set(labels))}")
        self.forms = forms_of(max(map(len, texts)))
        self.bias = math.log(sum(labels) / (len(labels) - sum(labels)))
        self.weights = array.array("d", bytes(8 * self.forms[-1].end))
        draw, order = random.Random(seed), list(range(len(texts)))
        for number in range(passes_for(len(texts))):
            draw.shuffle(order)
            for place in order:
                self.learn(self.features(texts[place]), labels[place], RATE / (1 + number))

    def features(self, text):
        """The numbers of a text's features; words behind the last place that was learned have none."""
        words = {letters: [text[begin:begin + letters] for begin in range(len(text) - letters + 1)] for letters in {form.letters for form in self.forms}}
        plain, found = set(text) <= set("ACGT"), []
        for form in self.forms:
            found += (form.features if plain else form.known)(words[form.letters])
        return found

    def learn(self, row, label, rate):
        weights = self.weights
        odds = self.bias + sum(map(weights.__getitem__, row))
        step = rate * (weighing.probability(odds) - label) / max(1, len(row))
        self.bias -= step
        for number in row:
            weights[number] -= step

    def score(self, text):
        """The logarithm of the odds of class 1."""
        return self.bias + sum(map(self.weights.__getitem__, self.features(text)))

    def predict(self, text):
        return int(self.score(text) > 0)
