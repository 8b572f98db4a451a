# SPDX-License-Identifier: Apache-2.0
"""What Longformer's parts are worth for questions over long articles, as its table of WikiHop has it (Beltagy et al. 2020), in the small.

A RoBERTa of 4 x 128 learns masked words in windows of 512 tokens, becomes a Longformer of 4,096 with windows of 128 and the question global, learns masked
words a little longer, and learns to answer over stretches of up to 4,096 tokens. Each other row changes one thing, save `no projections, no global
tokens`, which changes two, and `RoBERTa, 512 tokens`, which changes all: it is the model before the conversion, which reads 512 tokens at once with full
attention, has no global tokens and no projections for them, and learns no masked words further. To answer, all rows see as many tokens in as many steps,
except the one with three times the steps, and are asked the same questions over the same stretches: a model that reads fewer tokens at once reads a
stretch in several windows. `no projections` and `no global tokens` use the projections of the window for all; the question's place is then the first 24
tokens. Left out of the paper's table: full attention at 512 tokens after the conversion, which is RoBERTa's with more projections.
"""
import collections

import long_answers

CLAIM = "A Longformer answers more questions with 4,096 tokens at once, global tokens and their projections, and further training than without each."
FIGURE, BETTER = "f1", "larger"
NEEDS = [*long_answers.NEEDS, "books/train"]
SENTENCE, LENGTH, SHORT, WINDOW, QUESTION = "sentence of most words", 4096, 512, 128, 24
TOKENS_A_STEP, MASKED_STEPS, FURTHER_STEPS, STEPS, QUESTIONS = 8192, 600, 100, 300, 1500
# All but the table of positions.
OTHERS = ["encoder.layers.*", "encoder.embeddings.tokens", "encoder.embeddings.norm*", "encoder.embeddings.token_types", "head.*"]

# How the RoBERTa becomes a longer model (None: not at all), tokens that are read at once, how it learns masked words further, and how many times the steps.
Row = collections.namedtuple("Row", "conversion tokens further times", defaults=(["--attention-window", WINDOW], LENGTH, "all", 1))
ROWS = {
    "4,096 tokens": Row(),
    "RoBERTa, 512 tokens": Row(None, SHORT, "none"),
    "three times the steps": Row(times=3),
    "2,048 tokens": Row(tokens=2048),
    "windows of 512": Row(["--attention-window", 512]),
    "no further masked words": Row(further="none"),
    "positions alone learn further": Row(further="positions"),
    "no projections": Row(["--attention", f"window({WINDOW}) | global({QUESTION})"]),
    "no projections, no global tokens": Row(["--attention", f"window({WINDOW})"]),
}


def cells():
    yield {"row": SENTENCE}
    yield from ({"row": row} for row in ROWS)


def fixed(cell):
    return cell["row"] == SENTENCE


def masked(world, run, model, context, *more):
    world.trained(run, "--task", "mlm", "--model", model, "--train-text", world.data / "books/train", long_answers.learned_text(world), "--context", context,
                  "--batch-size", TOKENS_A_STEP // context, "--learning-rate", 1e-3, *more)
    return run


def short_model(world, seed):
    model = world.made(world.folder / "models" / f"begin-{seed}", "init", "--family", "roberta", "--tokenizer", long_answers.vocabulary(world),
                       "--num-hidden-layers", 4, "--hidden-size", 128, "--num-attention-heads", 4, "--intermediate-size", 512, "--max-position-embeddings",
                       SHORT + 2, "--seed", seed)
    return masked(world, world.folder / "runs" / f"short-{seed}", model, SHORT, "--steps", MASKED_STEPS, "--seed", seed)


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
    return masked(world, further, model, LENGTH, "--steps", FURTHER_STEPS, "--seed", seed, *frozen)


def run(cell, seed, world):
    if fixed(cell):
        return long_answers.figures_of_sentences(world.data, LENGTH)
    row = ROWS[cell["row"]]
    name = "".join(letter if letter.isalnum() else "_" for letter in cell["row"])
    files = ["--train-data", long_answers.learned_file(world, LENGTH, seed, mixed=True, questions=QUESTIONS), "--eval-data",
             long_answers.scored_file(world, LENGTH), "--format", "squad"]
    found = world.trained(world.folder / "runs" / f"answer-{name}-{seed}", "--task", "answer", "--model", long_model(row, world, seed), *files,
                          "--max-length", row.tokens, "--batch-tokens", TOKENS_A_STEP, "--steps", STEPS * row.times, "--learning-rate", 1e-3, "--seed",
                          seed)["evaluation"]
    return {"f1": found["f1"], "exact": found["exact_match"]}
