#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sparse Transformers on pictures, on sound and on books beside full attention and a plain window of equal cost, in bits per byte.

The pictures (16 x 16, RGB) and the sound (8,000 samples a second) are generated here: shapes and stripes that repeat along columns, and
melodies whose notes have overtones. Windows have as many edges as the mean of the sparse heads. Every model sees the same data in the same
order for the same number of steps. The paper's table 2 has the crossing that this looks for (Child et al. 2019): strided attention is ahead
of fixed on pictures, and fixed ahead of strided on text.

    bench/media/media.py --out FOLDER [--steps 400] [--seeds 1] [--only pictures|sound|books]
    bench/media/media.py --out FOLDER --only books --train BOOKS/train --held-out BOOKS/val --steps 2000 --seeds 3

FOLDER gets the data, the runs, results.jsonl and table.md. A call with a FOLDER that is there goes on: a model whose line is in results.jsonl
is not trained again.
"""
import argparse
import json
import math
import os
import pathlib
import random
import shutil
import statistics
import struct
import subprocess
import sys
import wave

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SIDE = 16
ROW = 3 * SIDE
RATE = 8000
MODEL = ["--layers", "4", "--width", "128", "--heads", "4", "--hidden-act", "quick_gelu", "--learning-rate", "0.002", "--dtype", "float32"]
# Half of the heads see a band, half every so manieth key: windows have as many keys as the mean of both over all queries.
PICTURES = {
    "strided, as released": f"heads(causal & window(left={ROW - 1}), causal & stride({ROW}))",
    "window of equal cost": "causal & window(left=27)",
    "fixed": f"fixed({ROW}, 3)",
    "window that sees a row and a pixel": f"causal & window(left={ROW + 2})",
    "full": "causal",
}
SOUND = {
    "strided, as released": "heads(causal & window(left=63), causal & stride(64))",
    "window of equal cost": "causal & window(left=35)",
    "full": "causal",
}
TEXT_ROW = 64
# Each with the window of the same mean number of keys at a context of 2,048.
BOOKS = {
    "strided, as released": f"heads(causal & window(left={TEXT_ROW - 1}), causal & stride({TEXT_ROW}))",
    "window of the cost of strided": "causal & window(left=39)",
    "fixed, as released": "heads(fixed(64, 8), causal & (segment(64) | summary(64, 16) & !summary(64, 8)))",
    "window of the cost of fixed": "causal & window(left=162)",
    "full": "causal",
}
KINDS = {"pictures": PICTURES, "sound": SOUND, "books": BOOKS}


def picture(draw):
    """A coloured gradient with stripes and a few boxes, and a little noise."""
    low, high = [[draw.randrange(256) for _ in range(3)] for _ in range(2)]
    slope, period, phase = draw.random() * math.pi, draw.choice([3, 4, 5, 7]), draw.randrange(7)
    boxes = []
    for _ in range(draw.randrange(1, 4)):
        top, left = draw.randrange(SIDE - 3), draw.randrange(SIDE - 3)
        boxes.append((top, left, top + draw.randrange(3, 9), left + draw.randrange(3, 9), [draw.randrange(256) for _ in range(3)]))
    raster = bytearray()
    for y in range(SIDE):
        for x in range(SIDE):
            share = (math.cos(slope) * x + math.sin(slope) * y) / SIDE
            share = min(max(0.5 + 0.5 * share, 0), 1)
            stripe = 25 if (x + phase) % period == 0 else 0
            colour = [low[c] + (high[c] - low[c]) * share + stripe for c in range(3)]
            for top, left, bottom, right, inside in boxes:
                if top <= y < bottom and left <= x < right:
                    colour = inside
            raster += bytes(min(max(int(value) + draw.randrange(-1, 2), 0), 255) for value in colour)
    return bytes(raster)


def write_pictures(folder, count, seed):
    folder.mkdir(parents=True)
    draw = random.Random(seed)
    for number in range(count):
        (folder / f"{number:05}.ppm").write_bytes(b"P6 %d %d 255\n" % (SIDE, SIDE) + picture(draw))


def write_sound(path, seconds, seed):
    """Notes of a scale with three overtones that fade."""
    draw = random.Random(seed)
    scale = [220.0 * 2 ** (step / 12) for step in (0, 2, 4, 7, 9, 12)]
    samples = []
    while len(samples) < seconds * RATE:
        pitch, length, loud = draw.choice(scale), draw.choice([800, 1600, 2400]), draw.uniform(0.3, 0.8)
        for i in range(length):
            fade = loud * math.exp(-2.5 * i / length)
            value = sum(math.sin(2 * math.pi * pitch * part * i / RATE) / part for part in (1, 2, 3)) / 2
            samples.append(int(20000 * fade * value) + draw.randrange(-20, 21))
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(struct.pack(f"<{len(samples)}h", *(min(max(sample, -32768), 32767) for sample in samples)))


def run(weft, *arguments):
    print("$", weft, *arguments, file=sys.stderr, flush=True)
    done = subprocess.run([weft, *map(str, arguments), "--json"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"media: weft ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def data_flags(options, kind):
    """What `weft train` is told of the data, and the length of a window."""
    data = options.out / kind
    if kind == "pictures":
        return ["--train-images", data / "train", "--eval-images", data / "held-out", "--position-embedding", "picture", "--batch-size", "8"], SIDE * ROW
    if kind == "sound":
        return ["--train-audio", data / "train.wav", "--eval-audio", data / "held-out.wav", "--context", "1024", "--batch-size", "6"], 1024
    positions = ["--position-embedding", options.positions, *(["--position-stride", TEXT_ROW] if options.positions == "stride" else [])]
    return ["--train-text", *options.train, "--eval-text", *options.held_out, "--context", "2048", "--batch-size", "2", *positions], 2048


def measured(options, kind, name, expression, seed):
    """One model: its bits per byte on held-out data, and its mean edges of a query."""
    out = options.out / "runs" / f"{kind}-{name.replace(' ', '-').replace(',', '')}-{seed}"
    more, length = data_flags(options, kind)
    edges = run(options.weft, "pattern", "stats", expression, "--length", length, "--heads", "4")["edges"] / (4 * length)
    shutil.rmtree(out, ignore_errors=True)  # of a call that was stopped
    result = run(options.weft, "train", *more, *MODEL, "--attention", expression, "--steps", options.steps, "--seed", seed, "--out", out,
                 "--max-eval-bytes", options.max_eval_bytes if kind == "books" else 0)
    return {"data": kind, "attention": name, "expression": expression, "seed": seed, "edges": round(edges, 1),
            "bits_per_byte": round(result["evaluation"]["bits_per_byte"], 4), "seconds": round(result["seconds"], 1)}


def table(results):
    lines = ["| data | attention | keys of a query | bits per byte | seeds |", "|---|---|---|---|---|"]
    for data, name in dict.fromkeys((row["data"], row["attention"]) for row in results):
        rows = [row for row in results if (row["data"], row["attention"]) == (data, name)]
        figures = [row["bits_per_byte"] for row in rows]
        deviation = f" ± {statistics.stdev(figures):.3f}" if len(figures) > 1 else ""
        expression = rows[0]["expression"].replace("|", "\\|")
        lines.append(f"| {data} | {name}: `{expression}` | {rows[0]['edges']} | {statistics.mean(figures):.3f}{deviation} | {len(figures)} |")
    return "\n".join(lines) + "\n"


def make_data(options, kind):
    if kind == "books" or (options.out / kind).exists():
        return
    if kind == "pictures":
        write_pictures(options.out / kind / "train", 2000, 1)
        write_pictures(options.out / kind / "held-out", 100, 2)
    else:
        write_sound(options.out / kind / "train.wav", 240, 1)
        write_sound(options.out / kind / "held-out.wav", 8, 2)


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", ROOT / "build/release/bin/weft"), help="the weft program")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", choices=list(KINDS))
    parser.add_argument("--train", nargs="+", help="books to train on, files and folders; without them there are no books")
    parser.add_argument("--held-out", nargs="+", help="books to score")
    parser.add_argument("--positions", choices=["stride", "rotary"], default="stride", help="positions of the models of books")
    parser.add_argument("--max-eval-bytes", type=int, default=200_000, help="bytes of books that are scored")
    options = parser.parse_args()
    if bool(options.train) != bool(options.held_out) or (options.only == "books" and not options.train):
        parser.error("books need both --train and --held-out")
    return options


def main():
    options = parsed()
    options.out.mkdir(parents=True, exist_ok=True)
    lines = options.out / "results.jsonl"
    results = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    done = {(row["data"], row["attention"], row["seed"]) for row in results}
    for seed in range(options.seeds):
        for kind, expressions in KINDS.items():
            if options.only not in (None, kind) or (kind == "books" and not options.train):
                continue
            make_data(options, kind)
            for name, expression in expressions.items():
                if (kind, name, seed) in done:
                    continue
                results.append(measured(options, kind, name, expression, seed))
                with open(lines, "a") as file:
                    file.write(json.dumps(results[-1]) + "\n")
    (options.out / "table.md").write_text(table(results))
    print(table(results), end="")


if __name__ == "__main__":
    main()
