#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models that learned with k rounds of hashing, evaluated with j: tables of k by j, mean and deviation over the seeds.

books: bits per byte of held-out text. Every second layer sees a window, the others tokens of the same bucket.

copy: Reformer's duplicated sequence (Kitaev et al. 2020, section 5). A text is sequences 0 w 0 w of random symbols; all layers hash, so that a symbol of the
second w is known only to who finds its first copy. The table has the share of right first guesses in the second copies, in percent.

All models of a task have the same shape and steps; a layer has no weights for its rotations, so that any model runs with any number of rounds. Each result
is a line of --out, which several calls may share: a model whose lines are there is not trained again.

    bench/memory/rounds.py --task copy --out copy.jsonl [--seeds 1 2 3] [--steps 3000] [--rounds 1 2 4] [--evaluate 1 2 4 8]
    bench/memory/rounds.py --task books --train BOOKS/train --held-out BOOKS/val --out books.jsonl [--seeds 1 2 3]
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import programs  # noqa: E402

SYMBOLS = bytes(range(33, 127))  # all but the one that stands between the copies
BETWEEN = b" "


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", programs.ROOT / "build/release/bin/weft"), help="the weft program")
    parser.add_argument("--task", choices=["books", "copy"], default="books")
    parser.add_argument("--train", nargs="+", help="books: files and folders to train on")
    parser.add_argument("--held-out", nargs="+", help="books: files and folders to score")
    parser.add_argument("--out", type=pathlib.Path, help="file of results, one a line")
    parser.add_argument("--hashing", default="causal=rank, window=32, rounds={}", help="settings of lsh, with {} for the rounds")
    parser.add_argument("--window", type=int, default=32, help="books: earlier tokens that the other layers see")
    parser.add_argument("--half", type=int, default=255, help="copy: symbols of w; 0 w 0 w must fit into half a context")
    parser.add_argument("--sequences", type=int, default=60, help="copy: sequences that are scored")
    for name, value in {"layers": 4, "width": 128, "heads": 4, "context": 1024, "batch-size": 2, "steps": 1000, "max-bytes": 100_000}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--rounds", nargs="+", type=int, default=[1, 2, 4], help="rounds to train with")
    parser.add_argument("--evaluate", nargs="+", type=int, default=[1, 2, 4, 8], help="rounds to evaluate with")
    parser.add_argument("--weft-flags", nargs="*", default=[], help="more flags of `weft train`, without their dashes: dtype=float32")
    chosen = parser.parse_args()
    if chosen.task == "books" and not (chosen.train and chosen.held_out):
        parser.error("--task books needs --train and --held-out")
    if chosen.task == "copy" and 2 * (chosen.half + 1) > chosen.context // 2:
        parser.error(f"--half must be at most {chosen.context // 4 - 1} with --context {chosen.context}, found {chosen.half}")
    return chosen


def attention(chosen, rounds):
    """One expression for each layer: hashing, on books behind a window."""
    hashing = f"lsh({chosen.hashing.format(rounds)})"
    if chosen.task == "copy":
        return [hashing] * chosen.layers
    return [f"window(left={chosen.window})" if layer % 2 == 0 else hashing for layer in range(chosen.layers)]


def copies(chosen, count, seed):
    """Sequences 0 w 0 w, one behind the other."""
    draw = random.Random(seed)
    halves = (BETWEEN + bytes(draw.choices(SYMBOLS, k=chosen.half)) for _ in range(count))
    return b"".join(half + half for half in halves)


def texts(chosen, folder):
    """Files to train on and to score."""
    train, held_out = folder / "train.txt", folder / "held_out.txt"
    if chosen.task == "books":
        return programs.joined(chosen.train, train), programs.joined(chosen.held_out, held_out)
    train.write_bytes(copies(chosen, 8_000_000 // (2 * chosen.half + 2), "train"))
    held_out.write_bytes(copies(chosen, chosen.sequences, "held out"))
    return train, held_out


def right_guesses(chosen, scores):
    """In percent, of the symbols of second copies in a file of token scores. An evaluation shows each at least half a context, which has the first copy."""
    length, hits = 2 * chosen.half + 2, []
    with open(scores, encoding="utf-8") as lines:
        for line in lines:
            score = json.loads(line)
            if score["begin"] % length > chosen.half + 1:  # behind the second 0
                hits.append(score["hit"])
    return 100 * sum(hits) / len(hits)


def measured(chosen, run, held_out, rounds):
    arguments = ["eval", run, "--text", held_out, "--attention", *attention(chosen, rounds)]
    if chosen.task == "books":
        return programs.weft(chosen.weft, *arguments, "--max-bytes", chosen.max_bytes)["bits_per_byte"]
    scores = run.parent / "scores.jsonl"
    programs.weft(chosen.weft, *arguments, "--context", chosen.context, "--token-scores", scores)
    return right_guesses(chosen, scores)


def results(out):
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] if out.exists() else []


def fill(chosen, out, folder):
    """Trains what is not in `out`, and adds a line for each evaluation."""
    train, held_out = texts(chosen, folder)
    for seed in chosen.seeds:
        for rounds in chosen.rounds:
            there = {one["evaluated"] for one in results(out) if (one["task"], one["seed"], one["trained"]) == (chosen.task, seed, rounds)}
            missing = [other for other in chosen.evaluate if other not in there]
            if not missing:
                continue
            run = folder / f"run-{rounds}-{seed}"
            programs.weft(chosen.weft, "train", "--train-text", train, "--attention", *attention(chosen, rounds), "--context", chosen.context, "--layers",
                          chosen.layers, "--width", chosen.width, "--heads", chosen.heads, "--batch-size", chosen.batch_size, "--steps", chosen.steps,
                          "--seed", seed, *(f"--{flag}" for flag in chosen.weft_flags), "--out", run)
            found = [{"task": chosen.task, "seed": seed, "trained": rounds, "evaluated": other, "steps": chosen.steps,
                      "figure": round(measured(chosen, run, held_out, other), 4)} for other in missing]
            with open(out, "a", encoding="utf-8") as file:
                file.writelines(json.dumps(one) + "\n" for one in found)


def table(chosen, found):
    lines = ["| trained with | " + " | ".join(f"{rounds} rounds" for rounds in chosen.evaluate) + " |", "|---|" + "---|" * len(chosen.evaluate)]
    digits = 4 if chosen.task == "books" else 1
    for rounds in chosen.rounds:
        cells = []
        for other in chosen.evaluate:
            figures = [one["figure"] for one in found if (one["task"], one["trained"], one["evaluated"]) == (chosen.task, rounds, other)]
            deviation = f" ± {statistics.stdev(figures):.{digits}f}" if len(figures) > 1 else ""
            cells.append(f"{statistics.mean(figures):.{digits}f}{deviation}")
        lines.append(f"| {rounds} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    chosen = options()
    print("machine:", programs.machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        out = chosen.out or folder / "results.jsonl"
        fill(chosen, out, folder)
        print(table(chosen, results(out)))


if __name__ == "__main__":
    main()
