#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `weft propose` finds in trained models: the pattern that a model had, and short ones for a model with full attention.

Two decoders of bytes learn for as many steps, one with full attention and one with a window and global positions. Each is profiled on the training
text; `weft propose` writes the cheapest patterns that keep a share of each head's probability, its loss on held-out text says what they cost, and
`weft bench attention` measures each layer's expression beside the predicted time, at the length of training and at a longer one.

    bench/pruning/propose.py --train BOOKS/train --held-out BOOKS/val --out FOLDER [--mass 0.95] [--lengths 1024 8192] [--steps 600]

FOLDER gets the models, the profiles, results.json and table.md; what is there is not made again, and the measurements are.
"""
import argparse
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import programs  # noqa: E402

CONTEXT = 1024


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", programs.ROOT / "build/release/bin/weft"), help="the weft program")
    parser.add_argument("--train", nargs="+", required=True, help="texts to train on and to profile")
    parser.add_argument("--held-out", nargs="+", required=True, help="texts to score")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for models, profiles and results")
    parser.add_argument("--sparse", default="causal & (window(left=31) | global(4, side=keys))", help="the pattern that is to be found again")
    parser.add_argument("--mass", type=float, default=0.95, help="share of each head's probability that is kept")
    parser.add_argument("--lengths", type=int, nargs="+", default=[CONTEXT, 8 * CONTEXT], help="tokens at which time is predicted and measured")
    for name, value in {"steps": 600, "layers": 2, "width": 128, "heads": 4, "seed": 0, "rounds": 10}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


def profiled(chosen, name, attention):
    """The profile of a model that learned with `attention`."""
    run, profile = chosen.out / name, chosen.out / f"{name}.safetensors"
    programs.trained(chosen.weft, run, "--train-text", *chosen.train, "--attention", attention, "--context", CONTEXT, "--batch-size", 4, "--layers",
                     chosen.layers, "--width", chosen.width, "--heads", chosen.heads, "--learning-rate", 2e-3, "--steps", chosen.steps, "--seed",
                     chosen.seed)
    if not profile.exists():
        programs.run([chosen.weft, "profile", run, "--text", *chosen.train, "--max-bytes", 1_000_000, "--out", profile])
    return profile


def measured(chosen, part, length):
    """Seconds of a forward pass of one layer's attention."""
    found = programs.weft(chosen.weft, "bench", "attention", "--pattern", part["expression"], "--length", length, "--heads", len(part["heads"]),
                          "--head-dim", part["head_dim"], "--rounds", chosen.rounds, "--no-dense")
    return found["forward_ms"] / 1e3


def proposals(chosen, name, profile, rates):
    """A row for each layer and length."""
    for length in chosen.lengths:
        flags = ["--mass", chosen.mass, "--length", length, "--rates", rates]
        loss = ["--held-out", *chosen.held_out, "--max-bytes", 400_000] if length == CONTEXT else []
        found = programs.weft(chosen.weft, "propose", profile, *flags, *loss)
        for part in found["parts"]:
            yield {"model": name, "length": length, "layer": part["name"], "expression": part["expression"], "kept_mass": found["kept_mass"],
                   "predicted": part["seconds"], "measured": measured(chosen, part, length), "base": part["base"],
                   "base_measured": measured(chosen, {**part, "expression": part["base"]}, length), "held_out": found.get("held_out")}


def table(rows):
    lines = ["| model | tokens | layer | proposed | predicted, ms | measured, ms | ratio | its own pattern, ms |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        expression = row["expression"].replace("|", "\\|")
        lines.append(f"| {row['model']} | {row['length']:,} | {row['layer']} | `{expression}` | {1e3 * row['predicted']:.2f} | {1e3 * row['measured']:.2f} | "
                     f"{row['predicted'] / row['measured']:.2f} | {1e3 * row['base_measured']:.2f} |")
    for name in dict.fromkeys(row["model"] for row in rows):
        loss = next(row["held_out"] for row in rows if row["model"] == name and row["held_out"])
        lines.append(f"\n{name}: held-out loss {loss['own']:.4f} with its own attention, {loss['proposed']:.4f} with the proposed one ({100 * loss['change']:+.2f}%)")
    near = sum(0.75 <= row["predicted"] / row["measured"] <= 1.25 for row in rows)
    return "\n".join(lines) + f"\n\n{near} of {len(rows)} predicted times within 25% of what was measured\n"


def main():
    chosen = options()
    chosen.out.mkdir(parents=True, exist_ok=True)
    rates = programs.rates(chosen.weft, chosen.out)
    rows = []
    for name, attention in {"full": "causal", "sparse": chosen.sparse}.items():
        rows += proposals(chosen, name, profiled(chosen, name, attention), rates)
    (chosen.out / "results.json").write_text(json.dumps({"machine": programs.machine(), "rows": rows}, indent=2) + "\n")
    (chosen.out / "table.md").write_text(table(rows))
    print(f"{programs.machine()}\n\n{table(rows)}")


if __name__ == "__main__":
    main()
