# SPDX-License-Identifier: Apache-2.0
"""Several models against one, on Multi30k from German to English: in one beam, and as one that writes from right to left.

Models differ in their seed alone and share a vocabulary, which the first one learns. Each takes 8 minutes; those of seed s are models 4 s to 4 s + 3.
The control of equal cost is one model that learned as long as four.
"""
CLAIM = "Models that write together are better than one of them, and than one that learned as long as all of them."
FIGURE, BETTER, NEEDS = "bleu", "larger", ["multi30k/train.de", "multi30k/val.de"]
MINUTES, MOST = 8, 4


def cells():
    return [{"models": 1, "mean": "none"}, {"models": 1, "mean": "none, four times as long"}, {"models": 1, "mean": "none, right to left"},
            {"models": 2, "mean": "probabilities"}, {"models": 4, "mean": "probabilities"}, {"models": 4, "mean": "logarithms"}]


def vocabulary(world):
    folder = world.folder / "vocabulary"
    if not folder.exists():
        world.weft("tokenizer", "train", world.data / "multi30k" / "train.de", world.data / "multi30k" / "train.en", "--vocabulary-size", 4000, "--out", folder)
    return folder


def translator(world, name, seed, minutes, *flags):
    run, data = world.folder / name, world.data / "multi30k"
    world.trained(run, "--task", "translate", "--train-source", data / "train.de", "--train-target", data / "train.en", "--tokenizer", vocabulary(world),
                  "--minutes", minutes, "--generated-examples", 0, "--seed", seed, *flags)
    return run


def run(cell, seed, world):
    first = MOST * seed
    if cell["mean"].endswith("long"):
        models = [translator(world, f"long-{first}", first, MOST * MINUTES)]
    elif cell["mean"].endswith("left"):
        models = [translator(world, f"backwards-{first}", first, MINUTES, "--right-to-left")]
    else:
        models = [translator(world, f"model-{number}", number, MINUTES) for number in range(first, first + cell["models"])]
    together = ["--with", *models[1:], "--mean", cell["mean"]] if len(models) > 1 else []
    written = world.folder / "written.en"
    world.run("translate", models[0], *together, "--file", world.data / "multi30k" / "val.de", "--no-split-sentences", "--num-beams", 5, "--out", written)
    return {"bleu": world.weft("score", "bleu", written, world.data / "multi30k" / "val.en")["score"]}
