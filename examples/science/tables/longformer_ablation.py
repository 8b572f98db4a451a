# SPDX-License-Identifier: Apache-2.0
"""What Longformer's parts are worth for questions over long articles, as its table of WikiHop has it (Beltagy et al. 2020), in the small.

A RoBERTa of 4 x 128 with windows of 32 tokens and the question global learns questions that are made of sentences over stretches of up to 512 tokens,
becomes a Longformer of 4,096, learns a little longer from such questions over stretches of up to 4,096 tokens, and then from those of people. In the paper
it learns masked words with full attention before: a model of this size learns no reading of them, and with full attention none of made questions either.
Each other row changes one thing, save `no projections, no global tokens`, which changes two, and `RoBERTa, 512 tokens`, which changes all but the windows:
it is the model before the conversion, which reads 512 tokens at once, has no projections for global tokens, and learns from no longer stretches. To answer, all rows see as many tokens in as many steps,
except the one with three times the steps, and are asked the same questions over the same stretches: a model that reads fewer tokens at once reads a
stretch in several windows. `no projections` and `no global tokens` use the projections of the window for all; the question's place is then the first 24
tokens. Left out of the paper's table: full attention at 512 tokens after the conversion, which is RoBERTa's with more projections.
"""
import collections

import long_answers

CLAIM = "A Longformer answers more questions with 4,096 tokens at once, global tokens and their projections, and longer stretches before than without each."
FIGURE, BETTER = "f1", "larger"
NEEDS = long_answers.NEEDS
SENTENCE, LENGTH, SHORT, WINDOW, QUESTION = "sentence of most words", 4096, 512, 32, 24
TOKENS_A_STEP, CLOZES, FURTHER_CLOZES, STEPS, QUESTIONS = 8192, 32000, 600, 300, 1500
RATE = 5e-4
# All but the table of positions.
OTHERS = ["encoder.layers.*", "encoder.embeddings.tokens", "encoder.embeddings.norm*", "encoder.embeddings.token_types", "head.*"]

# How the RoBERTa becomes a longer model (None: not at all), tokens that are read at once, what learns from longer stretches, and how many times the steps.
Row = collections.namedtuple("Row", "conversion tokens further times", defaults=(["--attention-window", WINDOW], LENGTH, "all", 1))
ROWS = {
    "4,096 tokens": Row(),
    "RoBERTa, 512 tokens": Row(None, SHORT, "none"),
    "three times the steps": Row(times=3),
    "2,048 tokens": Row(tokens=2048),
    "windows of 128": Row(["--attention-window", 128]),
    "no longer stretches before": Row(further="none"),
    "positions alone learn from them": Row(further="positions"),
    "no projections": Row(["--attention", f"window({WINDOW}) | global({QUESTION})"]),
    "no projections, no global tokens": Row(["--attention", f"window({WINDOW})"]),
}


def cells():
    yield {"row": SENTENCE}
    yield from ({"row": row} for row in ROWS)


def fixed(cell):
    return cell["row"] == SENTENCE


def taught(world, run, model, tokens, data, *more):
    return world.trained(run, "--task", "answer", "--model", model, "--train-data", data, "--format", "squad", "--max-length", tokens, "--batch-tokens",
                         TOKENS_A_STEP, *more)


def cloze_reader(world, run, model, tokens, count, seed, *more):
    """A model that has learned from questions that are made of sentences."""
    taught(world, run, model, tokens, long_answers.cloze_file(world, tokens, count, seed), "--epochs", 1, "--learning-rate", RATE, "--seed", seed, *more)
    return run


def short_model(world, seed):
    model = world.made(world.folder / "models" / f"begin-{seed}", "init", "--family", "roberta", "--tokenizer", long_answers.vocabulary(world),
                       "--num-hidden-layers", 4, "--hidden-size", 128, "--num-attention-heads", 4, "--intermediate-size", 512, "--max-position-embeddings",
                       SHORT + 2, "--attention", f"window({WINDOW}) | global(input)", "--seed", seed)
    return cloze_reader(world, world.folder / "runs" / f"short-{seed}", model, SHORT, CLOZES, seed)


def long_model(row, world, seed):
    """What learns to answer. Rows that begin with the same model share it."""
    if row.conversion is None:
        return short_model(world, seed)
    name = "".join(letter if letter.isalnum() else "_" for letter in " ".join(map(str, row.conversion)))
    model = world.folder / "models" / f"{name}-{seed}"
    with world.making(model) as is_missing:
        if is_missing:
            world.weft("convert", short_model(world, seed), "--to", "longformer", "--length", LENGTH, *row.conversion, "--out", model)
    if row.further == "none":
        return model
    frozen = ["--freeze", *OTHERS] if row.further == "positions" else []
    further = world.folder / "runs" / f"{name}-{row.further}-{seed}"
    return cloze_reader(world, further, model, LENGTH, FURTHER_CLOZES, seed, *frozen)


def run(cell, seed, world):
    if fixed(cell):
        return long_answers.figures_of_sentences(world.data, LENGTH)
    row = ROWS[cell["row"]]
    name = "".join(letter if letter.isalnum() else "_" for letter in cell["row"])
    data = long_answers.learned_file(world, LENGTH, seed, mixed=True, questions=QUESTIONS)
    found = taught(world, world.folder / "runs" / f"answer-{name}-{seed}", long_model(row, world, seed), row.tokens, data, "--steps", STEPS * row.times,
                   "--learning-rate", RATE, "--seed", seed, "--eval-data", long_answers.scored_file(world, LENGTH))["evaluation"]
    return {"f1": found["f1"], "exact": found["exact_match"]}
