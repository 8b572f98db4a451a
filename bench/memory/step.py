#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peak memory of a training step of a Reformer over a long text: hashed attention, reversible layers, the feed-forward and the loss in chunks.

    bench/memory/step.py [--context 65536] [--layers 6] [--limit-gb 4] [--steps 1]

The text is made here. The peak is that of the whole process: program, LibTorch, threads, and what the C library keeps of freed memory. Above the limit the
command fails.
"""
import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import depth  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in {"context": 65536, "layers": 6, "width": 256, "heads": 2, "feed-forward-chunk": 4096, "steps": 1, "threads": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--attention", default="lsh(causal=position, chunk=64, rounds=2)")
    parser.add_argument("--limit-gb", type=float, default=4.0)
    options = parser.parse_args()
    flags = ["--residual", "reversible", "--attention", options.attention]
    for name in ("context", "layers", "width", "heads", "feed-forward-chunk", "threads"):
        flags += [f"--{name}", getattr(options, name.replace("-", "_"))]
    with tempfile.TemporaryDirectory() as folder:
        depth.write_text(folder, 2 * options.context + 64)
        megabytes, seconds = depth.measure(folder, "run", flags, steps=options.steps, allocator={})
    gigabytes = megabytes * 2**20 / 1e9
    print(f"{options.context} tokens, {options.layers} layers of {options.width}: a peak of {gigabytes:.2f} GB, {seconds:.1f} s a step with what comes before it")
    if gigabytes > options.limit_gb:
        raise SystemExit(f"step.py: {gigabytes:.2f} GB are more than --limit-gb {options.limit_gb}")


if __name__ == "__main__":
    main()
