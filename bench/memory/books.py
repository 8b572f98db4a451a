#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bits per byte on held-out books, by the memory that a model is evaluated with: Transformer-XL with a memory beside itself without.

Both models have the same shape and train for the same minutes, one with --memory and one with segments alone. Each is then evaluated
behind memories of several lengths. Run it on a machine that does nothing else.

    bench/memory/books.py --train BOOKS/train --held-out BOOKS/val [--minutes 8] [--memory 256] [--evaluate 0 128 512 2100 3800]
"""
import argparse
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import programs  # noqa: E402


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", programs.ROOT / "build/release/bin/weft"), help="the weft program")
    parser.add_argument("--train", nargs="+", required=True, help="files and folders to train on")
    parser.add_argument("--held-out", nargs="+", required=True, help="files and folders to score")
    parser.add_argument("--minutes", type=float, default=8.0, help="training time of each model")
    parser.add_argument("--attention", default="relative", help="attention of both; clamp and left keep distances within the known ones")
    for name, value in {"layers": 4, "width": 256, "heads": 4, "context": 256, "memory": 256, "eval-context": 128, "max-bytes": 200_000}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--evaluate", nargs="+", type=int, default=[0, 128, 512, 2100, 3800], help="memories to evaluate with")
    parser.add_argument("--weft-flags", nargs="*", default=[], help="more flags of `weft train`, without their dashes: dtype=float32")
    return parser.parse_args()


def bits(chosen, train, held_out, run, memory):
    trained = programs.weft(
        chosen.weft, "train", "--train-text", train, "--attention", chosen.attention, "--position-embedding", "none", "--context",
        chosen.context, "--layers", chosen.layers, "--width", chosen.width, "--heads", chosen.heads, "--minutes", chosen.minutes,
        *(["--memory", memory] if memory else []), *(f"--{flag}" for flag in chosen.weft_flags), "--out", run)
    found = {"trained_with": memory, "steps": trained["steps"], "tokens": trained["tokens"]}
    for length in chosen.evaluate:
        scored = programs.weft(chosen.weft, "eval", run, "--text", held_out, "--context", chosen.eval_context, "--memory", length, "--max-bytes",
                               chosen.max_bytes)
        found[f"memory {length}"] = round(scored["bits_per_byte"], 4)
    print(json.dumps(found), flush=True)


def main():
    chosen = options()
    print("machine:", programs.machine(), flush=True)
    with programs.texts(chosen) as (folder, train, held_out):
        for memory in (0, chosen.memory):
            bits(chosen, train, held_out, folder / f"run{memory}", memory)


if __name__ == "__main__":
    main()
