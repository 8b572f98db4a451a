# SPDX-License-Identifier: Apache-2.0
"""Windows against full attention on books at equal compute, 2,048 bytes at a time: what a window saves goes into more steps.

Compute is counted as in the table `scaling`: weights of layers and head, and the keys that queries meet. All models have 4 layers of width 128.
"""
from tables.scaling import EVALUATED, operations, steps_of

CLAIM = "With the same compute, windows that leave more steps learn more than full attention does."
FIGURE, BETTER, GROUP, NEEDS = "bits_per_byte", "smaller", "compute", ["books/train", "books/val"]
CONTEXT, BATCH, LAYERS, WIDTH, HEADS = 2048, 2, 4, 128, 4
# A pattern, and how far back the query of each head looks.
PATTERNS = {"full": ("full", [CONTEXT] * 4), "window of 64": ("window(left=64)", [64] * 4), "window of 256": ("window(left=256)", [256] * 4),
            "windows of 64, 256 and 2,048": ("heads(2 * window(left=64), 1 * window(left=256), 1 * window(left=2048))", [64, 64, 256, CONTEXT])}


def cells():
    return [{"compute": "3e13", "attention": name} for name in PATTERNS]


def mean_keys(left):
    """Keys that a query of a text of CONTEXT bytes meets on average: itself and `left` before it."""
    return sum(min(place, left) + 1 for place in range(CONTEXT)) / CONTEXT


def run(cell, seed, world):
    pattern, lefts = PATTERNS[cell["attention"]]
    per_byte = operations(LAYERS, WIDTH, sum(map(mean_keys, lefts)) / len(lefts))
    steps = steps_of(float(cell["compute"]), per_byte, BATCH * CONTEXT)
    result = world.trained(world.folder / f"{cell['compute']}-{list(PATTERNS).index(cell['attention'])}-{seed}", "--train-text",
                           world.data / "books/train", "--eval-text", world.data / "books/val", "--max-eval-bytes", EVALUATED, "--context", CONTEXT,
                           "--batch-size", BATCH, "--layers", LAYERS, "--width", WIDTH, "--heads", HEADS, "--attention", pattern, "--steps", steps,
                           "--learning-rate", 3e-3, "--log-every", 50, "--seed", seed)
    return {"bits_per_byte": result["evaluation"]["bits_per_byte"], "steps": steps, "operations_a_byte": per_byte}
