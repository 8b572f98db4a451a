# SPDX-License-Identifier: Apache-2.0
"""N-best lists of one system in the order of several models: each model says how likely each text is (weft eval --predictions, forced decoding), and
the sum of w log p / length^a decides. Weights are chosen on other sentences than those that are scored.
"""
import itertools
import json

from lines import json_lines, text_lines

WEIGHTS, PENALTIES = (0.0, 0.25, 0.5, 1.0), (0.0, 0.5, 1.0)


def n_best(world, model, source, count, *flags):
    """For each line of a file the best `count` texts that a model writes."""
    lines = world.run("translate", model, "--file", source, "--no-split-sentences", "--num-beams", count, "--num-return-sequences", count,
                      "--batch-size", 128, "--json", *flags)
    return [list(dict.fromkeys(text["translation_text"] for text in json.loads(line)["result"])) for line in lines.splitlines()]


def forced_scores(world, model, source, lists, name):
    """For each text of each list (log p, tokens) by a model. A text without a letter has none."""
    sources = source.read_text(encoding="utf-8").splitlines()
    file, scored = world.scratch / f"{name}.jsonl", world.scratch / f"{name}-scored.jsonl"
    rows = [{"source": line, "target": text} for line, texts in zip(sources, lists, strict=True) for text in texts if text.strip()]
    world.write(file, json_lines(rows))
    world.weft("eval", model, "--task", "translate", "--data", file, "--generated-examples", 0, "--predictions", scored)
    found = iter([(row["log_probability"], row["tokens"]) for row in map(json.loads, scored.open(encoding="utf-8"))])
    return [[next(found) if text.strip() else None for text in texts] for texts in lists]


def best_of(lists, scores, weights, penalty):
    """The text with the best sum in each list; `scores` has forced_scores() of each model."""
    chosen = []
    for number, texts in enumerate(lists):
        def value(place, number=number):
            parts = [of_model[number][place] for of_model in scores]
            return -float("inf") if None in parts else sum(weight * part[0] / part[1] ** penalty for weight, part in zip(weights, parts, strict=True))
        chosen.append(texts[max(range(len(texts)), key=value)])
    return chosen


def bleu(world, texts, reference, name):
    written = world.scratch / f"{name}.txt"
    world.write(written, text_lines(texts))
    return world.weft("score", "bleu", written, reference)["score"]


def tuned(world, lists, scores, reference):
    """(weights, penalty) with the best BLEU; the first model, which wrote the lists, has weight 1."""
    choices = itertools.product(*([(1.0,)] + [WEIGHTS] * (len(scores) - 1)), PENALTIES)
    *weights, penalty = max(choices, key=lambda choice: bleu(world, best_of(lists, scores, choice[:-1], choice[-1]), reference, "tuning"))
    return weights, penalty
