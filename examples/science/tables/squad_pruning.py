# SPDX-License-Identifier: Apache-2.0
"""Questions over stretches of 1,024 to 4,096 tokens with nine tenths of the attention pruned, as Rugina et al. (2020) have SQuAD, in the small.

An encoder of 3 x 128 with rotary positions learns questions that are made of sentences, then real ones, over stretches of up to 1,024 tokens. From there
each row goes on for as many steps, over stretches of its length: with full attention, with the tenth of the blocks of 32 x 32 that a profile of the full
row finds, and with the two controls, a window of as much predicted time and as many random blocks. Time and memory are in table pruning_cost, because
they need no weights that learned, and a machine that does nothing else. The floor is the sentence of the stretch that shares most words with the question: a reader that does not
clear it ranks nothing. Dense attention of another program has the F1 of the full row: it is the same function.
"""
import json

import long_answers

CLAIM = "A reader keeps its F1 with the tenth of its attention that a profile chooses, and loses some with a window or random blocks of equal cost."
FIGURE, BETTER, GROUP = "f1", "larger", "tokens"
NEEDS = long_answers.NEEDS
LENGTHS = (1024, 2048, 4096)
SENTENCE, FULL, CONTROLS = "sentence of most words", "full attention", {"profile": [], "window": ["--control", "window"], "random": ["--control", "random"]}
PRUNED, BLOCK, PROFILED = 90, 32, 64
TOKENS_A_STEP, CLOZES, CLOZE_RATE = 8192, 24000, 2e-3
FIRST_LENGTH, FIRST_STEPS, STEPS = 1024, 600, 100


def cells():
    for tokens in LENGTHS:
        yield {"tokens": tokens, "pruned": 0, "by": SENTENCE}
        yield {"tokens": tokens, "pruned": 0, "by": FULL}
        yield from ({"tokens": tokens, "pruned": PRUNED, "by": control} for control in CONTROLS)


def fixed(cell):
    return cell["by"] == SENTENCE


def encoder(seed, world):
    """What every reader of a seed begins with."""
    model = world.made(world.folder / "models" / f"begin-{seed}", "init", "--family", "modernbert", "--global-attn-every-n-layers", 1, "--tokenizer",
                       long_answers.vocabulary(world), "--num-hidden-layers", 3, "--hidden-size", 128, "--num-attention-heads", 4, "--intermediate-size", 384,
                       "--max-position-embeddings", max(LENGTHS), "--seed", seed)
    run = world.folder / "runs" / f"clozes-{seed}"
    data = long_answers.cloze_file(world, FIRST_LENGTH, CLOZES, seed)
    world.trained(run, "--task", "answer", "--model", model, "--train-data", data, "--format", "squad", "--max-length", FIRST_LENGTH, "--batch-tokens",
                  TOKENS_A_STEP, "--epochs", 1, "--learning-rate", CLOZE_RATE, "--seed", seed)
    return run


def answering(world, run, model, data, tokens, *more):
    return world.trained(run, "--task", "answer", "--model", model, "--train-data", data, "--format", "squad", "--max-length", tokens, "--batch-size",
                         TOKENS_A_STEP // tokens, "--learning-rate", 1e-3, *more)


def reader(seed, world):
    """The reader of stretches of up to FIRST_LENGTH tokens, with which every row goes on."""
    run, data = world.folder / "runs" / f"first-{seed}", long_answers.learned_file(world, FIRST_LENGTH, seed, mixed=True)
    answering(world, run, encoder(seed, world), data, FIRST_LENGTH, "--steps", FIRST_STEPS, "--seed", seed)
    return run


def learned(tokens, seed, world):
    """As many questions as the steps of a row see."""
    return long_answers.learned_file(world, tokens, seed, questions=STEPS * TOKENS_A_STEP // tokens)


def scored(run, model, tokens, world, seed):
    """F1 and exact match after the steps of a row."""
    found = answering(world, run, model, learned(tokens, seed, world), tokens, "--steps", STEPS, "--seed", seed, "--eval-data",
                      long_answers.scored_file(world, tokens))["evaluation"]
    return {"f1": found["f1"], "exact": found["exact_match"]}


def full_run(tokens, seed, world):
    return world.folder / "runs" / f"{tokens}-full-{seed}"


def profile_of(tokens, seed, world):
    profile = world.folder / "profiles" / f"{tokens}-{seed}.safetensors"
    with world.making(profile) as is_missing:
        if is_missing:
            profile.parent.mkdir(parents=True, exist_ok=True)
            scored(full_run(tokens, seed, world), reader(seed, world), tokens, world, seed)
            world.run("profile", full_run(tokens, seed, world), "--data", learned(tokens, seed, world), "--format", "squad", "--context", tokens,
                      "--examples", PROFILED, "--tile", BLOCK, "--edges", 0, "--out", profile)
    return profile


def pruned_model(cell, seed, world):
    """(model, what weft prune says of it): the reader with the patterns of the row."""
    tokens, by = cell["tokens"], cell["by"]
    name = f"{tokens}-{by}-{seed}"
    patterns, model = world.folder / "patterns" / f"{name}.json", world.folder / "models" / name
    with world.making(model) as is_missing:
        if is_missing:
            for path in (patterns, model):
                path.parent.mkdir(parents=True, exist_ok=True)
            chance = ["--seed", seed] if by == "random" else []
            world.weft("prune", profile_of(tokens, seed, world), "--density", round(1 - cell["pruned"] / 100, 6), "--unit", "block", "--block", BLOCK,
                       *CONTROLS[by], *chance, "--no-graph", "-o", patterns)
            world.weft("convert", reader(seed, world), "--attention", f"@{patterns}", "--out", model)
    return model, json.loads(patterns.read_text(encoding="utf-8"))


def run(cell, seed, world):
    tokens = cell["tokens"]
    if fixed(cell):
        return long_answers.figures_of_sentences(world.data, tokens)
    if cell["by"] == FULL:
        return scored(full_run(tokens, seed, world), reader(seed, world), tokens, world, seed)
    model, about = pruned_model(cell, seed, world)
    found = scored(world.folder / "runs" / f"{tokens}-{cell['by']}-{seed}", model, tokens, world, seed)
    return found | {"mass": 100 * about["kept_mass"], "cost": 100 * about["cost_share"]}
