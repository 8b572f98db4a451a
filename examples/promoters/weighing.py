# SPDX-License-Identifier: Apache-2.0
"""Logistic regression over a few numbers of each record, pulled to weights that are usual: what puts together things that each say odds."""
import math

STEPS = 30


def probability(odds):
    """Of the logarithm of odds."""
    return 1 / (1 + math.exp(-odds)) if odds > -700 else 0.0


def softplus(number):
    """The logarithm of 1 + exp(number)."""
    return max(number, 0.0) + math.log1p(math.exp(-abs(number)))


def solved(matrix, right):
    """x of matrix · x = right, by Gauss; the matrix is positive definite."""
    rows = [[*row, value] for row, value in zip(matrix, right)]
    for place, row in enumerate(rows):
        for below in rows[place + 1:]:
            factor = below[place] / row[place]
            below[:] = [value - factor * pivot for value, pivot in zip(below, row)]
    found = []
    for place in reversed(range(len(rows))):
        row = rows[place]
        found.insert(0, (row[-1] - sum(value * other for value, other in zip(row[place + 1:-1], found))) / row[place])
    return found


def odds_of(row, weights):
    return sum(value * weight for value, weight in zip(row, weights))


def loss(rows, labels, weights, usual, pull):
    """What fitted makes small."""
    missed = sum(softplus(-odds if label else odds) for row, label in zip(rows, labels) for odds in [odds_of(row, weights)])
    return missed + pull / 2 * sum((weight - other) ** 2 for weight, other in zip(weights, usual))


def newton_step(rows, labels, weights, usual, pull):
    places = range(len(usual))
    slope = [pull * (weight - other) for weight, other in zip(weights, usual)]
    bend = [[pull * (row == column) for column in places] for row in places]
    for seen, label in zip(rows, labels):
        share = probability(odds_of(seen, weights))
        for row in places:
            slope[row] += (share - label) * seen[row]
            for column in places:
                bend[row][column] += share * (1 - share) * seen[row] * seen[column]
    return solved(bend, slope)


def fitted(rows, labels, usual, pull):
    """A weight for each number of a row, by Newton's steps, each halved until the loss falls; `pull`: how strongly they are drawn to `usual`."""
    weights, before = list(usual), loss(rows, labels, usual, usual, pull)
    for _ in range(STEPS):
        step = newton_step(rows, labels, weights, usual, pull)
        while max(map(abs, step)) > 1e-6:
            tried = [weight - change for weight, change in zip(weights, step)]
            if (after := loss(rows, labels, tried, usual, pull)) < before:
                break
            step = [change / 2 for change in step]
        else:
            break
        weights, before = tried, after
    return weights
