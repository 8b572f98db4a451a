# SPDX-License-Identifier: Apache-2.0
"""What counts and a model say together. Two numbers and a threshold weigh the log odds of words at their places against those of the model; they are
fitted on records that neither learned from, and never on the record that they are applied to: what a fold holds out is cut into parts, near copies
in one, and the weights for a part are fitted on the other parts.
"""
import json
import math
from typing import NamedTuple

import placed_words
import sequences

PARTS, STEPS = 5, 30
# The weights of words and model and the constant before any record is seen, and how strongly few records are pulled there: those that whole parts of
# Arabidopsis, E. coli, human and mouse chose lie about a fifth to each side, as a pull of 25 = 1 / 0.2² says.
USUAL, PULL = (1.0, 0.25, 0.1), 25.0
SURE = 1e-6  # no probability of a model is taken for nearer to 0 or 1


class Scored(NamedTuple):
    """A record with what words at places and the model have for the log odds of a promoter."""
    words: float
    model: float
    label: int
    group: int
    number: int


def model_odds(path, count):
    """The log odds of label 1 in lines of `weft eval --predictions`. SystemExit where there are not `count`."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        said = json.loads(line)
        share = min(max(said["score"], SURE), 1 - SURE)
        found.append(math.log(share / (1 - share)) * (1 if said["label"] == "1" else -1))
    if len(found) != count:
        raise SystemExit(f"promoters: {path} must have a prediction of each of {count} records, found {len(found)}")
    return found


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


def odds_of(record, weights):
    return weights[0] * record.words + weights[1] * record.model + weights[2]


def loss(records, weights):
    """What weights_of makes small."""
    missed = sum(placed_words.softplus(-odds if record.label else odds) for record in records for odds in [odds_of(record, weights)])
    return missed + PULL / 2 * sum((weight - usual) ** 2 for weight, usual in zip(weights, USUAL))


def newton_step(records, weights):
    slope = [PULL * (weight - usual) for weight, usual in zip(weights, USUAL)]
    bend = [[PULL * (row == column) for column in range(3)] for row in range(3)]
    for record in records:
        seen, share = (record.words, record.model, 1.0), placed_words.probability(odds_of(record, weights))
        for row in range(3):
            slope[row] += (share - record.label) * seen[row]
            for column in range(3):
                bend[row][column] += share * (1 - share) * seen[row] * seen[column]
    return solved(bend, slope)


def weights_of(records):
    """[words, model, constant]: logistic regression with a pull to USUAL, by Newton's steps, each halved until the loss falls."""
    weights, before = list(USUAL), loss(records, USUAL)
    for _ in range(STEPS):
        step = newton_step(records, weights)
        while max(map(abs, step)) > 1e-6:
            tried = [weight - change for weight, change in zip(weights, step)]
            if (after := loss(records, tried)) < before:
                break
            step = [change / 2 for change in step]
        else:
            break
        weights, before = tried, after
    return weights


def predicted(records, seed):
    """The label of each record, 0 or 1, by weights that were fitted on other records."""
    parts = [part for part in sequences.folds(records, PARTS, seed) if part]
    found = [0] * len(records)
    for part in parts:
        weights = weights_of([record for other in parts if other is not part for record in other])
        for record in part:
            found[record.number] = int(odds_of(record, weights) > 0)
    return found


def scored_records(words, odds, scored):
    """Scored of each example, in order; `words`: a PlacedWords, `odds`: what the model has for each."""
    return [Scored(words.score(each.bases), float(model), each.label, each.group, number) for number, (each, model) in enumerate(zip(scored, odds))]
