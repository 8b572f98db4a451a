# SPDX-License-Identifier: Apache-2.0
"""What Longformer's parts are worth for questions over long stretches, as its table of WikiHop has it (Beltagy et al. 2020), in the small.

An encoder of 3 x 128 of family modernbert, with Longformer's attention (windows of 32 tokens, and the question global), learns questions that are made of
sentences over stretches of up to 512 tokens, goes on with fewer of up to 2,048, and then learns those of people over as long ones. Each other row changes
one thing: who looks at whom from the beginning on, all else when it learns to answer or just before. To answer, all rows see as many tokens in as many
steps, except the one with three times the steps, and are asked the same questions over the same stretches: a model that reads fewer tokens at once reads
a stretch in several windows. The floor is the sentence of the stretch that shares most words with the question: a reader that does not clear it ranks
nothing.

The paper begins with a RoBERTa that learned masked words, whose table of positions is copied. Here positions turn (rotary) and nothing is copied: with a
table of positions a model of this size learned to read from neither masked words nor made questions, by windows or by full attention, as long as a row
takes (F1 of 11 at most over 4,096 tokens, where the floor is 22). So two of the paper's rows are left out: positions alone that learn further, and
global tokens without projections of their own, which are Longformer's family's alone.
"""
import collections

import long_answers

CLAIM = "A reader with Longformer's attention answers more with long stretches read at once, global tokens, and longer stretches before than without each."
FIGURE, BETTER = "f1", "larger"
NEEDS = long_answers.NEEDS
SENTENCE, LENGTH, SHORT = "sentence of most words", 2048, 512
TOKENS_A_STEP, CLOZES, FURTHER_CLOZES, CLOZE_RATE = 8192, 24000, 2000, 2e-3
STEPS, RATE = 600, 1e-3

# Who looks at whom, tokens that are read at once, whether longer stretches of made questions come before, and how many times the steps.
Row = collections.namedtuple("Row", "attention tokens further times", defaults=("window(32) | global(input)", LENGTH, True, 1))
ROWS = {
    "2,048 tokens": Row(),
    "three times the steps": Row(times=3),
    "1,024 tokens": Row(tokens=1024),
    "512 tokens": Row(tokens=SHORT),
    "no longer stretches before": Row(further=False),
    "windows of 128": Row("window(128) | global(input)"),
    "no global tokens": Row("window(32)"),
    "full attention": Row("full"),
}


def cells():
    yield {"row": SENTENCE}
    yield from ({"row": row} for row in ROWS)


def fixed(cell):
    return cell["row"] == SENTENCE


def named(text):
    return "".join(letter if letter.isalnum() else "_" for letter in text)


def answering(world, run, model, data, tokens, seed, *more):
    return world.trained(run, "--task", "answer", "--model", model, "--train-data", data, "--format", "squad", "--max-length", tokens, "--batch-tokens",
                         TOKENS_A_STEP, "--seed", seed, *more)


def cloze_reader(row, world, seed):
    """What learns real questions. Rows that begin alike share it."""
    name = f"{named(row.attention)}-{seed}"
    begun = world.made(world.folder / "models" / name, "init", "--family", "modernbert", "--tokenizer", long_answers.vocabulary(world), "--num-hidden-layers", 3,
                       "--hidden-size", 128, "--num-attention-heads", 4, "--intermediate-size", 384, "--max-position-embeddings", LENGTH, "--attention",
                       row.attention, "--seed", seed)
    for tokens, count in ((SHORT, CLOZES), (LENGTH, FURTHER_CLOZES))[:1 + row.further]:
        run = world.folder / "runs" / f"clozes-{tokens}-{name}"
        data = long_answers.cloze_file(world, tokens, count, seed)
        answering(world, run, begun, data, tokens, seed, "--epochs", 1, "--learning-rate", CLOZE_RATE if tokens == SHORT else RATE)
        begun = run
    return begun


def run(cell, seed, world):
    if fixed(cell):
        return long_answers.figures_of_sentences(world.data, LENGTH)
    row = ROWS[cell["row"]]
    found = answering(world, world.folder / "runs" / f"answer-{named(cell['row'])}-{seed}", cloze_reader(row, world, seed),
                      long_answers.learned_file(world, LENGTH, seed, mixed=True), row.tokens, seed, "--steps", STEPS * row.times, "--learning-rate", RATE,
                      "--eval-data", long_answers.scored_file(world, LENGTH))["evaluation"]
    return {"f1": found["f1"], "exact": found["exact_match"]}
