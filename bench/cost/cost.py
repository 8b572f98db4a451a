#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `weft pattern cost` predicts after `weft bench calibrate`, beside what `weft bench attention` then measures.

    bench/cost/cost.py --out FOLDER [--lengths 1024 4096 16384] [--dtypes float32 bfloat16] [--patterns ...] [--heads 4]
    bench/cost/cost.py --out FOLDER --steps 12

The second form compares a training step of a whole model (4 layers of width 256 over 2,048 bytes) with `weft train` instead.
FOLDER gets machine.json (kept where it is there already), results.jsonl (added to, so that a long comparison can be made in parts;
what is measured again counts as it was measured last) and table.md. A ratio is predicted over measured time; the worst is that furthest from 1 in either direction.
"""
import argparse
import json
import pathlib
import random
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import programs  # noqa: E402

PATTERNS = ["bigbird(block=64)", "window(512)", "causal & window(left=512)", "full", "fixed(128, 1)", "longformer(512)"]
HEAD_DIM = 64
PARTS = {"forward": ("forward_ms", "sparse", "inference"), "forward + backward": ("forward_backward_ms", "sparse", "training"),
         "dense forward": ("dense_forward_ms", "dense", "inference"),
         "dense forward + backward": ("dense_forward_backward_ms", "dense", "training")}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=programs.ROOT / "build/release/bin/weft", help="the weft program")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--patterns", nargs="+", default=PATTERNS)
    parser.add_argument("--lengths", nargs="+", type=int, default=[1024, 4096, 16384])
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5, help="turns at least; the longest calls take seconds each")
    parser.add_argument("--steps", type=int, default=0, help="train so many steps of a model, and compare nothing else")
    return parser.parse_args()


def compare(chosen, rates, pattern, length, dtype):
    """Seconds of each part, predicted and measured."""
    site = ["--length", length, "--heads", chosen.heads, "--dtype", dtype, "--input", "0,1000"]
    predicted = programs.weft(chosen.weft, "pattern", "cost", pattern, *site, "--layers", 1, "--width", HEAD_DIM * chosen.heads,
                              "--rates", rates)
    measured = programs.weft(chosen.weft, "bench", "attention", "--pattern", pattern, *site, "--head-dim", HEAD_DIM, "--backward",
                             "--rounds", chosen.rounds, *([] if pattern == "full" else ["--no-dense"]))
    for part, (name, form, step) in PARTS.items():
        if measured[name] is not None and (form == "sparse" or pattern == "full"):  # dense attention once a length
            yield {"pattern": pattern, "length": length, "dtype": dtype, "part": part, "measured": measured[name] / 1e3,
                   "predicted": predicted[form][step]["attention"]["seconds"]}


def compare_step(chosen, rates, pattern, dtype):
    """Seconds of a training step of a small language model."""
    layers, width, heads, context, batch = 4, 256, 4, 2048, 4
    text, run = chosen.out / "text.txt", chosen.out / f"run-{dtype}"
    text.write_text(" ".join(random.Random(1).choices(["graph", "token", "query", "key", "value", "window"], k=200_000)))
    shutil.rmtree(run, ignore_errors=True)
    shape = ["--layers", layers, "--width", width, "--heads", heads, "--batch-size", batch, "--dtype", dtype]
    trained = programs.weft(chosen.weft, "train", "--train-text", text, "--attention", pattern, "--context", context, *shape,
                            "--steps", chosen.steps, "--out", run)
    shape[6] = "--batch"
    predicted = programs.weft(chosen.weft, "pattern", "cost", pattern, "--length", context, *shape, "--feed-forward", 4 * width,
                              "--vocabulary", 256, "--rates", rates)
    yield {"pattern": pattern, "length": context, "dtype": dtype, "part": "training step of a model",
           "measured": batch * context / trained["tokens_per_second"], "predicted": predicted["sparse"]["training"]["total"]["seconds"]}


def comparisons(chosen, rates):
    for dtype in chosen.dtypes:
        if chosen.steps:
            for pattern in ("causal & window(left=512)", "causal"):
                yield from compare_step(chosen, rates, pattern, dtype)
            continue
        for length in chosen.lengths:
            for pattern in chosen.patterns:
                yield from compare(chosen, rates, pattern, length, dtype)


def table(results):
    lines = ["| pattern | length | dtype | | predicted, ms | measured, ms | ratio |", "|---|---|---|---|---|---|---|"]
    for each in results:
        pattern = each["pattern"].replace("|", "\\|")
        lines.append(f"| `{pattern}` | {each['length']:,} | {each['dtype']} | {each['part']} | {each['predicted'] * 1e3:.1f} | "
                     f"{each['measured'] * 1e3:.1f} | {each['predicted'] / each['measured']:.2f} |")
    ratios = [each["predicted"] / each["measured"] for each in results]
    worst = max(ratios, key=lambda ratio: max(ratio, 1 / ratio))
    near = sum(0.75 <= ratio <= 1.25 for ratio in ratios)
    return "\n".join(lines) + f"\n\n{near} of {len(ratios)} within 25%; the worst ratio is {worst:.2f}\n"


def main():
    chosen = options()
    chosen.out.mkdir(parents=True, exist_ok=True)
    rates = programs.rates(chosen.weft, chosen.out)
    with open(chosen.out / "results.jsonl", "a") as lines:
        for result in comparisons(chosen, rates):
            print(json.dumps(result), file=lines, flush=True)
    results = [json.loads(line) for line in (chosen.out / "results.jsonl").read_text().splitlines()]
    last = {tuple(each[name] for name in ("dtype", "length", "pattern", "part")): each for each in results}
    text = f"{programs.machine()}\n\n{table(list(last.values()))}"
    (chosen.out / "table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
