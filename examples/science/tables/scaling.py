# SPDX-License-Identifier: Apache-2.0
"""Bits per byte of books by size and compute; examples/scaling/scaling.py fits curves to the lines of this table and foretells its last row.

A model reads bytes, 256 at a time, with a cosine as long as its run. Compute is counted as the model spends it: 6 floating-point operations for each
weight of the layers and of the head that meets a byte, and 12 for each column of the keys that a query meets (Hoffmann et al. 2022 count these, Kaplan et
al. 2020 leave them out, which favours small models). `parameters` are such weights, without the embedding that is looked up and not multiplied.
The learning rate falls with the root of the width. Rows are compared within one compute; the largest is held out of all fits.
"""
import math

CLAIM = "For each compute one size is best, and what smaller runs say foretells a run of four times the compute."
FIGURE, BETTER, GROUP, NEEDS = "bits_per_byte", "smaller", "compute", ["books/train", "books/val"]
CONTEXT, VOCABULARY, HEAD = 256, 256, 16
RATE_OF_64 = 4e-3
EVALUATED = 500_000  # held-out bytes
HELD_OUT = "4e13"
# (layers, width) by compute, as text so that results compare equal. No run sees a byte more than four times.
GRID = {HELD_OUT: [(3, 96)],
        "1e13": [(2, 48), (2, 64), (3, 64), (3, 96), (4, 128)],
        "3e12": [(2, 32), (2, 48), (2, 64), (3, 64), (3, 96)],
        "1e12": [(1, 32), (2, 32), (2, 48), (2, 64), (3, 64)]}

BATCH = 8  # windows a step: four times as many learn less from as many bytes


def cells():
    return [{"compute": compute, "layers": layers, "width": width} for compute, shapes in GRID.items() for layers, width in shapes]


def parameters(layers, width):
    """Weights of layers and head."""
    return 12 * layers * width * width + VOCABULARY * width


def operations(layers, width, keys):
    """Floating-point operations that learning from one byte takes, where a query meets so many keys on average."""
    return 6 * parameters(layers, width) + 12 * layers * width * keys


def steps_of(compute, per_byte, bytes_a_step):
    return max(1, round(compute / per_byte / bytes_a_step))


def run(cell, seed, world):
    layers, width = cell["layers"], cell["width"]
    per_byte = operations(layers, width, (CONTEXT + 1) / 2)
    steps = steps_of(float(cell["compute"]), per_byte, BATCH * CONTEXT)
    result = world.trained(world.folder / f"{cell['compute']}-{layers}-{width}-{seed}", "--train-text", world.data / "books/train", "--eval-text",
                           world.data / "books/val", "--max-eval-bytes", EVALUATED, "--context", CONTEXT, "--batch-size", BATCH, "--layers", layers,
                           "--width", width, "--heads", width // HEAD, "--steps", steps, "--learning-rate", RATE_OF_64 * math.sqrt(64 / width),
                           "--log-every", 50, "--seed", seed)
    tokens = steps * BATCH * CONTEXT
    return {"bits_per_byte": result["evaluation"]["bits_per_byte"], "parameters": parameters(layers, width), "bytes": tokens,
            "operations": tokens * per_byte, "steps": steps}
