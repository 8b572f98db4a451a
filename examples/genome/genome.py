#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A causal model of a genome, one base a token: bits per base on stretches it never saw, and whether a longer context helps.

Every tenth stretch of 50,000 bases is held out. The others are trained on as they are and as their reverse complement, which is the other strand
of the same molecule. Run it on a machine that does nothing else: it trains by the clock.

    examples/genome/genome.py --fasta ecoli.fa.gz --out ecoli [--minutes 10]
"""
import argparse
import gzip
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import programs  # noqa: E402

STRETCH = 50_000
HELD_OUT_OF = 10
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=programs.ROOT / "build/release/bin/weft", help="the weft program")
    parser.add_argument("--fasta", type=pathlib.Path, required=True, help="plain or gzip")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the split, the run and the results")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--contexts", type=int, nargs="+", default=[64, 256, 1024, 2048], help="contexts to evaluate with")
    parser.add_argument("--attention", default="heads(2 * window(left=32), 1 * window(left=256), 1 * window(left=2048))")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=192)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def bases_of(path):
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    with opened as lines:
        return "".join(line.strip().upper() for line in lines if not line.startswith(">"))


def split(bases, folder):
    """Writes train.txt and held_out/*.txt: plain bases, no line ends, so that a byte is a base."""
    stretches = [bases[begin:begin + STRETCH] for begin in range(0, len(bases), STRETCH)]
    train = [stretch for number, stretch in enumerate(stretches) if number % HELD_OUT_OF != HELD_OUT_OF - 1]
    held_out = folder / "held_out"
    held_out.mkdir(parents=True, exist_ok=True)
    (folder / "train.txt").write_text("".join(train) + "".join(train)[::-1].translate(COMPLEMENT))
    for number, stretch in enumerate(stretches[HELD_OUT_OF - 1::HELD_OUT_OF]):
        (held_out / f"{number:03}.txt").write_text(stretch)
    return held_out


def main():
    chosen = options()
    held_out = split(bases_of(chosen.fasta), chosen.out)
    run = chosen.out / "run"
    print("machine:", programs.machine(), flush=True)
    trained = programs.weft(chosen.weft, "train", "--train-text", chosen.out / "train.txt", "--attention", chosen.attention, "--context",
                            chosen.context, "--batch-size", 4, "--layers", chosen.layers, "--width", chosen.width, "--heads", 4,
                            "--learning-rate", 2e-3, "--minutes", chosen.minutes, "--seed", chosen.seed, "--out", run)
    print(json.dumps({"trained_tokens": trained["tokens"], "seconds": trained["seconds"]}), flush=True)
    results = [programs.weft(chosen.weft, "eval", run, "--text", held_out, "--context", context) for context in chosen.contexts]
    (chosen.out / "results.json").write_text(json.dumps({"machine": programs.machine(), "train": trained, "eval": results}, indent=2) + "\n")
    print("\n| context | bits per base | bases |\n|---|---|---|")
    for found in results:
        print(f"| {found['context']:,} | {found['bits_per_byte']:.4f} | {found['bytes']:,} |")


if __name__ == "__main__":
    main()
