# SPDX-License-Identifier: Apache-2.0
"""Sentences chosen without a model, on PLOS articles (their abstracts), QMSum meetings (the answer to their first general query) and SciTLDR.

All methods have one budget of words a data set: the mean length of the references that are not scored.
"""
import json
import statistics

from rouge import rouge, without_model
from lines import json_lines

CLAIM = "Without a model: the oracle says how far sentences of the text can go, lead and random what is had for nothing."
FIGURE, BETTER, GROUP = "rouge1", "larger", "data"
NEEDS = ["plos/train.jsonl", "plos/dev.jsonl", "qmsum/train.jsonl", "qmsum/val.jsonl", "scitldr/train.jsonl", "scitldr/dev.jsonl"]
DATA = {"plos": ("train.jsonl", "dev.jsonl"), "qmsum": ("train.jsonl", "val.jsonl"), "scitldr": ("train.jsonl", "dev.jsonl")}
METHODS = ("random", "lead", "sumbasic", "lexrank", "lexrank-continuous", "lsa", "oracle")
MOST_SENTENCES = 50


def cells():
    return [{"data": data, "method": method} for data in DATA for method in METHODS]


def fixed(cell):
    return cell["method"] != "random"


def example(data, row):
    """(text, reference), a sentence or paragraph a line."""
    if data == "plos":
        return "\n".join(paragraph for section in row["sections"] for paragraph in section["paragraphs"]), row["abstract"]
    if data == "qmsum":
        return "\n".join(turn["content"] for turn in row["meeting_transcripts"]), row["general_query_list"][0]["answer"]
    return "\n".join(row["source"]), row["target"][0]


def examples(data, path):
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if data != "qmsum" or row["general_query_list"]:
            text, reference = example(data, row)
            if text.strip() and reference.strip():
                yield text, reference


def run(cell, seed, world):
    data = cell["data"]
    train, held_out = (list(examples(data, world.data / data / name)) for name in DATA[data])
    words = round(statistics.fmean(len(reference.split()) for _, reference in train))
    file = world.scratch / f"{data}.jsonl"
    world.write(file, json_lines({"text": text, "reference": reference} for text, reference in held_out))
    own = {"oracle": ["--reference-field", "reference"], "random": ["--random-seed", seed]}.get(cell["method"], [])
    summaries = without_model(world, cell["method"], file, "--text-field", "text", "--words", words, "--sentences", MOST_SENTENCES, *own)
    return rouge(world, summaries, [reference for _, reference in held_out]) | {"words": words}
