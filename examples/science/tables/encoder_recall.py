# SPDX-License-Identifier: Apache-2.0
"""Encoders by mechanism where reading far is all that helps: masked letters whose copies lie 40 to 60 letters away.

A text is one random word of 40 to 60 letters, said again and again; the next text has another word. 15% of the letters are masked, and what is masked can
be had from a copy alone: which distance it has differs by text, so that a model has to find the copy by the letters beside it. Letters are drawn evenly,
the `trivial` baseline always says the same letter. Full attention learns the task; a window of 32 letters, the control of the sparse ones' cost, sees no
copy, and neither do two layers of it, which reach 32 letters to each side.
"""
import random
import string

CLAIM = "Where full attention finds the copy of a masked letter, a mechanism that keeps single tokens apart finds it, too, and sums of features do not."
FIGURE, BETTER, NEEDS = "restored", "larger", []
CONTEXT, BATCH, STEPS, LAYERS, WIDTH = 256, 16, 2500, 2, 128
WORD, TEXT, MASKED = (40, 60), 512, 0.15
LEARNED, SCORED = 4000, 200  # texts
CONSTANT = "trivial"
ATTENTION = {"full": "full", "window": "window(32)", "window, global": "window(32) | global(first=4)",
             "BigBird": "block(16, window(3) | random(3, seed=layer) | global(first=1))", "stride": "window(32) | stride(16)", "lsh": "lsh(chunk=32, rounds=2)",
             "nystrom": "nystrom", "linear": "linear", "performer": "performer"}


def cells():
    return [{"attention": CONSTANT}, *({"attention": name} for name in ATTENTION)]


def fixed(cell):
    return cell["attention"] == CONSTANT


def texts(count, seed):
    """Texts of TEXT letters, one after the other without a break."""
    draw = random.Random(seed)
    words = ("".join(draw.choices(string.ascii_lowercase, k=draw.randint(*WORD))) for _ in range(count))
    return "".join((word * (TEXT // len(word) + 1))[:TEXT] for word in words)


def files(world, seed):
    """(text to learn from, text that is scored)"""
    paths = world.folder / f"learned-{seed}.txt", world.folder / f"scored-{seed}.txt"
    for path, count in zip(paths, (LEARNED, SCORED)):
        with world.making(path) as is_missing:
            if is_missing:
                world.write(path, texts(count, path.name))
    return paths


def run(cell, seed, world):
    if fixed(cell):
        return {"restored": 100 / len(string.ascii_lowercase)}
    learned, scored = files(world, seed)
    found = world.trained(world.folder / f"{list(ATTENTION).index(cell['attention'])}-{seed}", "--task", "mlm", "--train-text", learned, "--eval-text",
                          scored, "--max-eval-bytes", 0, "--attention", ATTENTION[cell["attention"]], "--context", CONTEXT, "--batch-size", BATCH,
                          "--mask-probability", MASKED, "--layers", LAYERS, "--width", WIDTH, "--heads", 4, "--learning-rate", 2e-3, "--steps", STEPS,
                          "--seed", seed)["evaluation"]
    return {"restored": 100 * found["masked_accuracy"], "nats": found["loss"]}
