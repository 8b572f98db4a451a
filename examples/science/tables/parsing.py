# SPDX-License-Identifier: Apache-2.0
"""Constituency parsing as translation (Vinyals et al. 2015; Vaswani et al. 2017, section 6.3), on the trees of GUM, scored as EVALB does.

A model reads the words and writes a tree in one line. Free beams may write what is no tree, and are mended; beams that are held to trees write a
balanced one over the words. The baseline is right branching. There is a model for each seed and cross-attention.

3,707 trees are too few for a model to find by itself which word it is at. So one head of cross-attention is taught where each symbol belongs (guided
alignment, Chen et al. 2016): without it the same training stays behind right branching.
"""
CLAIM = "A model that translates words into trees beats right branching; beams held to balanced trees write no worse, and windows of cross-attention do."
FIGURE, BETTER, NEEDS = "f1_of_all", "larger", ["trees/train", "trees/dev"]
STEPS, BATCH_TOKENS, BEAMS = 3000, 1024, 4
# A tree has two to three tokens for each word, so that its end looks back at what may lie far before.
CROSS = {"full": "full", "window": "window(left=96, right=8)"}


def cells():
    return [{"cross": "right branching", "beams": "none"}, *({"cross": cross, "beams": beams} for cross in CROSS for beams in ("free", "trees"))]


def fixed(cell):
    return cell["beams"] == "none"


def prepared(world):
    """NAME.words, NAME.trees, NAME.align, NAME.gold and NAME.right of both parts."""
    for part in ("train", "dev"):
        with world.making(world.folder / f"{part}.right") as is_missing:
            if is_missing:
                world.run("data", "trees", world.data / "trees" / part, "--out", world.folder / part)
    return world.folder / "train", world.folder / "dev"


def scored(world, hypothesis, dev, *flags):
    score = world.weft("score", "parse", hypothesis, dev.with_suffix(".gold"), "--drop", "ROOT", *flags)
    return {name: score[name] for name in ("f1_of_all", "f1", "recall", "precision", "complete_match", "errors")}


def run(cell, seed, world):
    train, dev = prepared(world)
    if fixed(cell):
        return scored(world, dev.with_suffix(".right"), dev)
    parser = world.folder / f"parser-{cell['cross']}-{seed}"
    world.trained(parser, "--task", "translate", "--train-source", train.with_suffix(".words"), "--train-target", train.with_suffix(".trees"),
                  "--alignments", train.with_suffix(".align"), "--alignment-weight", 1, "--encoder-layers", 3, "--decoder-layers", 3, "--width",
                  192, "--heads", 4, "--cross-attention", CROSS[cell["cross"]], "--steps", STEPS, "--batch-tokens", BATCH_TOKENS,
                  "--generated-examples", 0, "--seed", seed)
    written = world.folder / f"{cell['cross']}-{cell['beams']}-{seed}.txt"
    held = ["--tree-labels", train.with_suffix(".trees")] if cell["beams"] == "trees" else ["--no-split-sentences"]
    trees = world.run("translate", parser, "--file", dev.with_suffix(".words"), *held, "--num-beams", BEAMS, "--batch-size", 128,
                      "--max-new-tokens-per-source", "6:60")
    world.write(written, trees)
    balanced = sum(is_balanced(line) for line in written.read_text(encoding="utf-8").splitlines())
    return scored(world, written, dev, "--linear") | {"balanced": balanced}


def is_balanced(line):
    opened = []
    for symbol in line.split():
        if symbol.startswith("("):
            opened.append(symbol[1:])
        elif symbol.startswith(")") and (not opened or opened.pop() != symbol[1:]):
            return False
    return not opened
