#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bits per byte on held-out books for every mechanism, after the same minutes: one table, mean and deviation over the seeds.

All models have the same shape, read 4,096 bytes at once and are scored on the same bytes; a cheaper mechanism reads more of the training text in its
minutes. Each result is a line of --out, which several calls may share: a model whose line is there is not trained again, and the table is that of all lines.
With --encoders models read from both sides and foretell masked bytes, of which the table has the bits: mechanisms that no decoder can have are among these.

    bench/books/mechanisms.py --train BOOKS/train --held-out BOOKS/val --out results.jsonl [--minutes 5] [--seeds 1 2 3]
    bench/books/mechanisms.py --encoders --train BOOKS/train --held-out BOOKS/val --out encoders.jsonl
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import programs  # noqa: E402

DECODERS = ["causal", "window(left=512)", "window(left=64) | stride(64)", "lsh(causal=rank, window=64, rounds=2)", "relative(left=512)",
            "span(max=1024, init=64)", "linear", "linear(map=dpfp)", "performer(features=128)", "rfa(gate=yes, denominator=small)"]
ENCODERS = ["full", "window(512)", "star", "lsh(rounds=2)", "relative(reach=512)", "linear", "linear(map=dpfp)", "performer(features=128)", "rfa", "nystrom",
            "linformer", "little_bird"]
NO_POSITIONS = ("relative", "little_bird")  # mechanisms whose scores know the distances


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", programs.ROOT / "build/release/bin/weft"), help="the weft program")
    parser.add_argument("--train", nargs="+", required=True, help="files and folders to train on")
    parser.add_argument("--held-out", nargs="+", required=True, help="files and folders to score")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="file of results, one a line")
    parser.add_argument("--attention", nargs="+", help="mechanisms, one a model (default: all of the kind)")
    parser.add_argument("--encoders", action="store_true", help="encoders that foretell masked bytes, and no decoders")
    parser.add_argument("--minutes", type=float, default=5.0, help="training time of each model")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    for name, value in {"context": 4096, "layers": 4, "width": 128, "heads": 4, "batch-size": 1, "max-bytes": 100_000}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--learning-rate", type=float, default=0.002)
    chosen = parser.parse_args()
    chosen.attention = chosen.attention or (ENCODERS if chosen.encoders else DECODERS)
    return chosen


def results(out):
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] if out.exists() else []


def measured(chosen, attention, seed, train, held_out, run):
    positions = ["--position-embedding", "none"] if attention.startswith(NO_POSITIONS) else []
    kind = ["--task", "mlm"] if chosen.encoders else []
    trained = programs.weft(
        chosen.weft, "train", *kind, "--train-text", train, "--attention", attention, *positions, "--context", chosen.context, "--layers", chosen.layers, "--width",
        chosen.width, "--heads", chosen.heads, "--batch-size", chosen.batch_size, "--learning-rate", chosen.learning_rate, "--minutes", chosen.minutes, "--seed",
        seed, "--out", run)
    scored = programs.weft(chosen.weft, "eval", run, "--text", held_out, "--max-bytes", chosen.max_bytes)
    bits = scored["loss"] / math.log(2) if chosen.encoders else scored["bits_per_byte"]
    found = {"attention": attention, "seed": seed, "minutes": chosen.minutes, "tokens": trained["tokens"], "bits_per_byte": round(bits, 4)}
    if attention.startswith("span"):
        found["spans"] = programs.run([chosen.weft, "pattern", "spans", run]).splitlines()
    return found


def table(found):
    lines = ["| attention | bytes seen | bits per byte (seeds) |", "|---|---|---|"]
    for attention in dict.fromkeys(one["attention"] for one in found):
        rows = [one for one in found if one["attention"] == attention]
        bits = [one["bits_per_byte"] for one in rows]
        deviation = f" ± {statistics.stdev(bits):.3f}" if len(bits) > 1 else ""
        seen = statistics.mean(one["tokens"] for one in rows)
        lines.append(f"| {programs.table_cell(attention)} | {seen / 1e6:.2f} million | {statistics.mean(bits):.3f}{deviation} ({len(bits)}) |")
    return "\n".join(lines)


def main():
    chosen = options()
    print("machine:", programs.machine(), flush=True)
    with programs.texts(chosen) as (folder, train, held_out):
        for seed in chosen.seeds:
            for number, attention in enumerate(chosen.attention):
                done = {(one["attention"], one["seed"]) for one in results(chosen.out)}
                if (attention, seed) not in done:
                    found = measured(chosen, attention, seed, train, held_out, folder / f"run-{number}-{seed}")
                    with open(chosen.out, "a", encoding="utf-8") as file:
                        file.write(json.dumps(found) + "\n")
    print(table(results(chosen.out)))


if __name__ == "__main__":
    main()
