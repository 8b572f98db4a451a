#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peak memory and time of training steps by the number of layers: plain residual connections, recomputed layers, reversible ones.

    bench/memory/depth.py [--context 4096] [--layers 6 12 24 48] [--attention PATTERN] [--forms FORM...]
    bench/memory/depth.py --context 65536 --layers 6 12 --heads 2 --attention 'lsh(causal=position, rounds=4)' --forms reversible-chunks

What a run of one layer with a context of 64 takes (the program, LibTorch, its threads) is shown by itself. Parameters, their gradients and the two moments
of AdamW grow with depth in every form; the table says how much that is. The allocator is told to give every freed tensor back to the system at once, so that
peaks are those of the tensors, and not of what the allocator keeps for later.
"""
import argparse
import os
import pathlib
import random
import tempfile
import time

WEFT = os.environ.get("WEFT_BINARY", pathlib.Path(__file__).resolve().parents[2] / "build/release/bin/weft")
FORMS = {"plain": [], "recomputed": ["--gradient-checkpointing"], "reversible": ["--residual", "reversible"],
         "reversible-chunks": ["--residual", "reversible", "--feed-forward-chunk", "256"]}
GIVE_BACK = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}  # bytes, of glibc's malloc


def measure(folder, name, flags, steps=3, allocator=None):
    """Peak megabytes of the process, and its seconds a step. `allocator`: variables for glibc's malloc."""
    out = pathlib.Path(folder) / name
    arguments = [str(WEFT), "train", "--train-text", f"{folder}/text", "--batch-size", "1", "--dtype", "float32", "--steps", str(steps),
                 "--out", str(out), *map(str, flags)]
    null = os.open(os.devnull, os.O_WRONLY)
    child = os.posix_spawn(arguments[0], arguments, {**os.environ, **(GIVE_BACK if allocator is None else allocator)}, file_actions=[(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)])
    began = time.monotonic()
    _, status, usage = os.wait4(child, 0)
    assert status == 0, arguments
    return usage.ru_maxrss / 1024, (time.monotonic() - began) / steps


def write_text(folder, tokens):
    source = random.Random(1)
    pathlib.Path(folder, "text").write_text("".join(source.choice("abcdefgh \n") for _ in range(tokens)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--context", type=int, default=4096)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, nargs="+", default=[6, 12, 24, 48])
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--attention", default="window(256)")
    parser.add_argument("--forms", nargs="+", choices=list(FORMS), default=list(FORMS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_text(folder, 4 * options.context + 64)
        shape = ["--threads", options.threads, "--width", options.width, "--heads", options.heads, "--attention", options.attention]
        alone = measure(folder, "alone", [*shape, "--context", 64, "--layers", 1])[0]
        print(f"the program with one layer and 64 tokens: {alone:.0f} MB")
        print("| layers | weights, gradients, moments, MB | " + " | ".join(f"{form}, MB" for form in options.forms) + " |")
        print("|---|---|" + "---|" * len(options.forms))
        for layers in options.layers:
            parameters = 12 * layers * options.width**2
            row = [str(layers), f"{parameters * 16 / 2**20:.0f}"]
            for form in options.forms:
                flags = ["--context", options.context, "--layers", layers, *FORMS[form]]
                peak, seconds = measure(folder, f"{layers}-{form}", [*shape, *flags])
                row.append(f"{peak - alone:.0f} ({seconds:.1f} s)")
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
