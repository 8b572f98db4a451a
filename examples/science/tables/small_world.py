# SPDX-License-Identifier: Apache-2.0
"""Masked bytes of books by Watts and Strogatz's graphs (1998): a ring of 32 neighbours, each edge of which is rewired with a probability.

A ring alone is clustered and has long paths; rewired at random it has short paths and no clusters; in between it has both, which BigBird (Zaheer et al.
2020) takes for its reason to mix windows and random edges. All rings cost the same. The control is full attention; `alone` sees no other byte and
knows how often each is there, so that it restores those of the scored ones that are shown as they are, a tenth. `path` and `clustering` are those of the
graph of one layer over the context, and need no training.
"""
import collections

import alone

CLAIM = "The short paths of a ring whose edges are rewired let a model restore more masked bytes, as long as it keeps its clusters."
FIGURE, BETTER, NEEDS = "restored", "larger", ["books/train", "books/val"]
CONTEXT, BATCH, STEPS, LAYERS, WIDTH, DEGREE = 512, 8, 1200, 2, 128, 32
EVALUATED = 400_000  # held-out bytes
REWIRED = ("0", "0.05", "0.2", "0.5", "1")
BYTES = 256  # the vocabulary
CONSTANT, FULL = "alone", "full"


def cells():
    return [{"graph": CONSTANT, "rewired": ""}, *({"graph": "ring", "rewired": rewired} for rewired in REWIRED), {"graph": FULL, "rewired": ""}]


def fixed(cell):
    return cell["graph"] == CONSTANT


def counts(folder):
    """How often each byte of the held-out text is there."""
    return collections.Counter(b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())[:EVALUATED])


def run(cell, seed, world):
    if fixed(cell):
        return {"restored": 100 * alone.restored(counts(world.data / "books/val"), BYTES)}
    pattern = FULL if cell["graph"] == FULL else f"watts_strogatz({DEGREE}, {cell['rewired']}, seed=layer)"
    found = world.trained(world.folder / f"{cell['graph']}{cell['rewired']}-{seed}", "--task", "mlm", "--train-text", world.data / "books/train", "--eval-text",
                          world.data / "books/val", "--max-eval-bytes", EVALUATED, "--attention", pattern, "--context", CONTEXT, "--batch-size", BATCH,
                          "--layers", LAYERS, "--width", WIDTH, "--heads", 4, "--learning-rate", 3e-3, "--steps", STEPS, "--seed", seed)["evaluation"]
    graph = world.weft("pattern", "stats", pattern, "--length", CONTEXT)
    return {"restored": 100 * found["masked_accuracy"], "nats": found["loss"], "path": graph["average_path"], "clustering": graph["clustering"]}
