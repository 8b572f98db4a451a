# SPDX-License-Identifier: Apache-2.0
"""What counts and a model say together. Two numbers and a threshold weigh the log odds of counts (counted.py) against those of the model; they are
fitted on records that neither learned from, and never on the record that they are applied to: what a fold holds out is cut into parts, near copies
in one, and the weights for a part are fitted on the other parts.
"""
import json
import math
from typing import NamedTuple

import sequences
import weighing

PARTS = 5
# The weights of counts and model and the constant before any record is seen, and how strongly few records are pulled there: those that whole parts of
# Arabidopsis, E. coli, human and mouse chose lay about a fifth to each side, as a pull of 25 = 1 / 0.2² says, when the model saw the records alone. With
# copies (altered.py) these parts choose 0.3 to 0.9 and 0.2 to 0.8; usual weights of 0.7 and 0.5, or 0.8 and 0.4, had the same F1 within 0.008.
USUAL, PULL = (1.0, 0.25, 0.1), 25.0
SURE = 1e-6  # no probability of a model is taken for nearer to 0 or 1


class Scored(NamedTuple):
    """A record with what counts and the model have for the log odds of a promoter."""
    counted: float
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


def row_of(record):
    return record.counted, record.model, 1.0


def weights_of(records):
    """[counted, model, constant]: logistic regression with a pull to USUAL."""
    return weighing.fitted([row_of(record) for record in records], [record.label for record in records], USUAL, PULL)


def predicted(records, seed):
    """The label of each record, 0 or 1, by weights that were fitted on other records."""
    parts = [part for part in sequences.folds(records, PARTS, seed) if part]
    found = [0] * len(records)
    for part in parts:
        weights = weights_of([record for other in parts if other is not part for record in other])
        for record in part:
            found[record.number] = int(weighing.odds_of(row_of(record), weights) > 0)
    return found


def scored_records(counted, odds, scored):
    """Scored of each example, in order; `counted`: a Counted, `odds`: what the model has for each."""
    return [Scored(counted.score(each.bases), float(model), each.label, each.group, number) for number, (each, model) in enumerate(zip(scored, odds))]
