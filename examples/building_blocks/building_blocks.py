#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Table 1 of the BigBird paper in the small: which building blocks of a sparse pattern make a good masked language model?

Encoders of one shape learn from the same text for the same number of steps, once for each pattern and seed: random blocks, a window, both, both
with global blocks, and full attention. Figures are the part of masked bytes that the model restores on held-out text. Bytes and rotary positions, so
that a run of minutes learns more than how often each token stands anywhere.

    examples/building_blocks/building_blocks.py --train books/train --held-out books/val --out blocks [--steps 1200] [--seeds 3]

Leaves OUT/table.md, OUT/results.json and OUT/plot.svg; a run that is there already is not trained again.
"""
import argparse
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import plot  # noqa: E402
import programs  # noqa: E402

# Blocks of 32 tokens at 512 tokens are the paper's blocks of 64 at 1,024: 16 of them, 3 random, 3 in the window, 2 global.
PATTERNS = {
    "random": "block(32, random(3))",
    "window": "block(32, window(3))",
    "random + window": "block(32, random(3) | window(3))",
    "random + window + global": "block(32, random(3) | window(3) | global(first=1, last=1))",
    "full": "full",
}
CONTEXT = 512


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=programs.ROOT / "build/release/bin/weft", help="the weft program")
    parser.add_argument("--train", nargs="+", required=True, help="files and folders to train on")
    parser.add_argument("--held-out", nargs="+", required=True, help="files and folders to score")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for runs and results")
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=128)
    return parser.parse_args()


def evaluation(chosen, name, seed):
    """The last evaluation of the run of one pattern and seed."""
    run = chosen.out / "runs" / f"{name.replace(' ', '')}-{seed}"
    flags = ["--encoder", "--train-text", *chosen.train, "--eval-text", *chosen.held_out, "--attention", PATTERNS[name],
             "--context", CONTEXT, "--batch-size", 8, "--layers", chosen.layers, "--width", chosen.width, "--heads", 4, "--position-embedding",
             "rotary", "--learning-rate", 3e-3, "--steps", chosen.steps, "--seed", seed, "--max-eval-bytes", 400_000]
    return programs.trained(chosen.weft, run, *flags)["evaluation"]


def table(results):
    lines = ["| pattern | expression | masked accuracy | deviation | nats a masked byte |", "|---|---|---|---|---|"]
    for name, runs in results.items():
        accuracy = [run["masked_accuracy"] for run in runs]
        spread = statistics.stdev(accuracy) if len(accuracy) > 1 else 0.0
        escaped = PATTERNS[name].replace("|", "\\|")
        lines.append(f"| {name} | `{escaped}` | {100 * statistics.mean(accuracy):.2f}% | {100 * spread:.2f} | "
                     f"{statistics.mean(run['loss'] for run in runs):.3f} |")
    return "\n".join(lines) + "\n"


def main():
    chosen = options()
    chosen.out.mkdir(parents=True, exist_ok=True)
    results = {name: [] for name in PATTERNS}
    for seed in range(chosen.seeds):
        for name in PATTERNS:
            results[name].append(evaluation(chosen, name, seed))
            print(json.dumps({"pattern": name, "seed": seed} | results[name][-1]), flush=True)
    (chosen.out / "results.json").write_text(json.dumps({"machine": programs.machine(), "results": results}, indent=2) + "\n")
    (chosen.out / "plot.svg").write_text(plot.bars({name: [100 * run["masked_accuracy"] for run in runs] for name, runs in results.items()},
                                                   "masked bytes restored, %; a dot for each seed"))
    (chosen.out / "table.md").write_text(table(results))
    print(table(results))


if __name__ == "__main__":
    main()
