#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bits per byte of models that learned with k rounds of hashing, evaluated with j: a table of k by j.

Every second layer sees a window, the others tokens of the same bucket. All models have the same shape, seed and steps; a layer has no weights for its
rotations, so that any model runs with any number of rounds.

    bench/memory/rounds.py --train BOOKS/train --held-out BOOKS/val [--steps 1000] [--rounds 1 2 4] [--evaluate 1 2 4 8]
"""
import argparse
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import programs  # noqa: E402


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", programs.ROOT / "build/release/bin/weft"), help="the weft program")
    parser.add_argument("--train", nargs="+", required=True, help="files and folders to train on")
    parser.add_argument("--held-out", nargs="+", required=True, help="files and folders to score")
    parser.add_argument("--hashing", default="causal=rank, window=32, rounds={}", help="settings of lsh, with {} for the rounds")
    parser.add_argument("--window", type=int, default=32, help="earlier tokens that the other layers see")
    for name, value in {"layers": 4, "width": 128, "heads": 4, "context": 1024, "batch-size": 2, "steps": 1000, "max-bytes": 100_000}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--rounds", nargs="+", type=int, default=[1, 2, 4], help="rounds to train with")
    parser.add_argument("--evaluate", nargs="+", type=int, default=[1, 2, 4, 8], help="rounds to evaluate with")
    parser.add_argument("--weft-flags", nargs="*", default=[], help="more flags of `weft train`, without their dashes: dtype=float32")
    return parser.parse_args()


def attention(chosen, rounds):
    """One expression for each layer: a window, then hashing."""
    hashing = f"lsh({chosen.hashing.format(rounds)})"
    return [f"window(left={chosen.window})" if layer % 2 == 0 else hashing for layer in range(chosen.layers)]


def main():
    chosen = options()
    print("machine:", programs.machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        train = programs.joined(chosen.train, folder / "train.txt")
        held_out = programs.joined(chosen.held_out, folder / "held_out.txt")
        print("| trained with | " + " | ".join(f"{rounds} rounds" for rounds in chosen.evaluate) + " |")
        print("|---|" + "---|" * len(chosen.evaluate), flush=True)
        for rounds in chosen.rounds:
            run = folder / f"run{rounds}"
            programs.weft(chosen.weft, "train", "--train-text", train, "--attention", *attention(chosen, rounds), "--context", chosen.context, "--layers",
                          chosen.layers, "--width", chosen.width, "--heads", chosen.heads, "--batch-size", chosen.batch_size, "--steps", chosen.steps,
                          *(f"--{flag}" for flag in chosen.weft_flags), "--out", run)
            scored = [programs.weft(chosen.weft, "eval", run, "--text", held_out, "--max-bytes", chosen.max_bytes, "--attention",
                                    *attention(chosen, other))["bits_per_byte"] for other in chosen.evaluate]
            print(f"| {rounds} | " + " | ".join(f"{bits:.4f}" for bits in scored) + " |", flush=True)


if __name__ == "__main__":
    main()
