#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What decoders remember, by how far back it stands: a table of mechanisms by distance, and a figure, of two tasks that tell them apart.

needle: a digit, so many letters in the order of the alphabet, and the digit again; other digits stand before it. copy: so many random letters are followed
by the same letters. Every mechanism learns from the same text with the same shape and steps, for each seed; the share of right first guesses on other texts
is printed, mean and standard deviation over the seeds. Chance is 0.1 for a needle, 1/16 for a copy.

    bench/language/recall.py --tasks needle [--attention EXPR...] [--context 256] [--seeds 3] [--plot FOLDER]
    bench/language/recall.py --tasks copy --batch-size 16 --steps 1500
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import string
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import plot  # noqa: E402
import programs  # noqa: E402

ALPHABET = "abcdefghijklmnop"
DECODERS = ["causal", "window(left=16)", "window(left=16) | stride(16)", "lsh(causal=rank, window=16, rounds=4)", "relative", "linear", "linear(map=dpfp)",
            "performer(features=64)", "rfa(gate=yes, denominator=small)"]
NO_POSITIONS = ("relative",)  # mechanisms whose scores know the distances


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", programs.ROOT / "build/release/bin/weft"), help="the weft program")
    parser.add_argument("--attention", nargs="+", default=DECODERS, help="mechanisms of decoders, one a model")
    for name, value in {"context": 256, "layers": 2, "width": 64, "heads": 2, "batch-size": 4, "steps": 6000, "seeds": 3, "episodes": 40}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--training-bytes", type=int, default=4_000_000)
    parser.add_argument("--learning-rate", type=float, default=0.004)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--plot", type=pathlib.Path, help="a folder for figures")
    chosen = parser.parse_args()
    if chosen.context < 128:
        parser.error(f"--context must be at least 128, found {chosen.context}")
    return chosen


def distances(chosen):
    """Powers of two: a scored byte has at least half a context before it, and the needle or the first letter must be there."""
    return [2**power for power in range(2, 20) if 2**power + 32 <= chosen.context // 2]


def needle(draw, distance):
    """An episode, and where in it the answers stand. What stands between can be foretold, so that a model learns from the answers."""
    digit, between = draw.choice(string.digits), "".join(ALPHABET[place % len(ALPHABET)] for place in range(distance))
    text = f"({digit}{between}|{digit})"
    return text, [len(text) - 2]


def copy(draw, distance):
    part = "".join(draw.choices(ALPHABET, k=distance))
    return f"({part}|{part})", list(range(distance + 2, 2 * distance + 2))


TASKS = {"needle": needle, "copy": copy}


def episodes(draw, chosen, task, size):
    """At least so many bytes of episodes."""
    parts = []
    while size > 0:
        parts.append(TASKS[task](draw, draw.choice(distances(chosen)))[0] + "\n")
        size -= len(parts[-1])
    return "".join(parts)


def questions(chosen, task):
    """The text that is scored, and the byte of each answer with its distance."""
    draw, text, answers = random.Random(f"held out {task}"), "", {}
    for distance in distances(chosen):
        for _ in range(chosen.episodes):
            episode, places = TASKS[task](draw, distance)
            # What stands before are other episodes, so that no window begins inside of this one.
            text += episodes(draw, chosen, task, chosen.context // 2)
            answers.update({len(text) + place: distance for place in places})
            text += episode + "\n"
    return text, answers


def shares(scores, answers):
    """The share of hits for each distance, in a file of token scores."""
    hits = {}
    with open(scores, encoding="utf-8") as lines:
        for line in lines:
            score = json.loads(line)
            if score["begin"] in answers:
                hits.setdefault(answers[score["begin"]], []).append(score["hit"])
    return {distance: sum(found) / len(found) for distance, found in hits.items()}


def measured(chosen, task, attention, seed, folder):
    train, held_out, scores = folder / "train.txt", folder / "held_out.txt", folder / "scores.jsonl"
    train.write_text(episodes(random.Random(f"train {task} {seed}"), chosen, task, chosen.training_bytes), encoding="ascii")
    text, answers = questions(chosen, task)
    held_out.write_text(text, encoding="ascii")
    run = folder / "run"
    positions = ["--position-embedding", "none"] if attention.startswith(NO_POSITIONS) else []
    programs.weft(
        chosen.weft, "train", "--train-text", train, "--attention", attention, *positions, "--context", chosen.context, "--layers", chosen.layers, "--width",
        chosen.width, "--heads", chosen.heads, "--batch-size", chosen.batch_size, "--steps", chosen.steps, "--learning-rate", chosen.learning_rate, "--seed", seed,
        "--out", run)
    programs.weft(chosen.weft, "eval", run, "--text", held_out, "--token-scores", scores)
    return shares(scores, answers)


def table(chosen, task):
    print(f"\n{task}\n\n| attention | " + " | ".join(f"{distance:,}" for distance in distances(chosen)) + " |")
    print("|---|" + "---|" * len(distances(chosen)), flush=True)
    curves = {}
    for attention in chosen.attention:
        found = []
        for seed in range(1, chosen.seeds + 1):
            with tempfile.TemporaryDirectory() as folder:
                found.append(measured(chosen, task, attention, seed, pathlib.Path(folder)))
        cells = [[one[distance] for one in found] for distance in distances(chosen)]
        deviations = [f" ± {statistics.stdev(cell):.2f}" if len(cell) > 1 else "" for cell in cells]
        print(f"| {programs.table_cell(attention)} | " + " | ".join(f"{statistics.mean(cell):.2f}{by}" for cell, by in zip(cells, deviations)) + " |", flush=True)
        curves[attention] = [(distance, statistics.mean(cell)) for distance, cell in zip(distances(chosen), cells)]
    return curves


def main():
    chosen = options()
    print("machine:", programs.machine(), flush=True)
    for task in chosen.tasks:
        curves = table(chosen, task)
        if chosen.plot:
            chosen.plot.mkdir(parents=True, exist_ok=True)
            figure = plot.lines(curves, "bytes back", f"right first guesses ({task})", even=True)
            (chosen.plot / f"{task}.svg").write_text(figure, encoding="utf-8")


if __name__ == "__main__":
    main()
