# SPDX-License-Identifier: Apache-2.0
"""Bits of a masked byte of books by model and context, as BigBird's table 10 (Zaheer et al. 2020) has bits of a masked piece.

There RoBERTa reads 512 pieces, and Longformer and BigBird 4,096. Here full attention reads 256 bytes, and the others 2,048. Every row is asked for the
same bytes: 15% of each stretch of 2,048 are masked together, and the stretch is cut afterwards. All models see as many bytes in as many steps. `full` over
2,048 bytes is the control that spares nothing, a window over them the control of a pattern's cost. `alone` sees no other byte and
knows how often each is there; a tenth of the scored ones are shown as they are, so that it needs fewer bits than those counts have.
"""
import collections
import math

import alone

CLAIM = "A model that reads 2,048 bytes by few edges needs fewer bits a masked byte than one that sees all pairs of 256."
FIGURE, BETTER, NEEDS = "bits", "smaller", ["books/train", "books/val"]
LONGEST, BYTES_A_STEP, STEPS, LAYERS, WIDTH = 2048, 4096, 1500, 4, 128
EVALUATED = 400_000  # held-out bytes
MASKED = 0.15
BYTES = 256  # the vocabulary
CONSTANT = "alone"
MODELS = {"full": "full", "window": "block(32, window(3))", "Longformer": "window(128) | global(first=1)",
          "BigBird": "block(32, window(3) | random(3, seed=layer) | global(first=1, last=1))"}


def cells():
    yield {"model": CONSTANT, "bytes": 1}
    yield {"model": "full", "bytes": 256}
    yield from ({"model": model, "bytes": LONGEST} for model in MODELS)


def fixed(cell):
    return cell["model"] == CONSTANT


def counts(folder):
    """How often each byte of the held-out text is there."""
    return collections.Counter(b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())[:EVALUATED])


def run(cell, seed, world):
    if fixed(cell):
        found = counts(world.data / "books/val")
        return {"bits": alone.bits(found, BYTES), "accuracy": alone.restored(found, BYTES)}
    context, model = cell["bytes"], world.folder / f"{cell['model']}-{cell['bytes']}-{seed}"
    world.trained(model, "--task", "mlm", "--train-text", world.data / "books/train", "--attention", MODELS[cell["model"]], "--context", context,
                  "--batch-size", BYTES_A_STEP // context, "--mask-probability", MASKED, "--layers", LAYERS, "--width", WIDTH, "--heads", 4,
                  "--learning-rate", 3e-3, "--steps", STEPS, "--seed", seed)
    found = world.weft("eval", model, "--text", world.data / "books/val", "--max-bytes", EVALUATED, "--context", context, "--mask-window", LONGEST,
                       "--mask-probability", MASKED)
    return {"bits": found["loss"] / math.log(2), "accuracy": found["masked_accuracy"], "masked": found["masked_tokens"]}
