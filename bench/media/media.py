#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sparse Transformers on pictures and on sound beside the same model with a plain window of equal cost, in bits per byte.

The pictures (16 x 16, RGB) and the sound (8,000 samples a second) are generated here: shapes and stripes that repeat along columns, and
melodies whose notes have overtones. Windows have as many edges as the mean of the sparse heads. Every model sees the same data in the same
order for the same number of steps.

    bench/media/media.py --out FOLDER [--steps 400] [--seeds 1] [--only pictures|sound]

FOLDER gets the data, the runs, results.jsonl and table.md.
"""
import argparse
import json
import math
import os
import pathlib
import random
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


def measured(options, kind, name, expression, seed):
    """One model: its bits per byte on held-out data, and its mean edges of a query."""
    data = options.out / kind
    out = options.out / "runs" / f"{kind}-{name.replace(' ', '-').replace(',', '')}-{seed}"
    more = {"pictures": ["--train-images", data / "train", "--eval-images", data / "held-out", "--position-embedding", "picture",
                         "--batch-size", "8"],
            "sound": ["--train-audio", data / "train.wav", "--eval-audio", data / "held-out.wav", "--context", "1024", "--batch-size", "6"]}
    length = SIDE * ROW if kind == "pictures" else 1024
    edges = run(options.weft, "pattern", "stats", expression, "--length", length, "--heads", "4")["edges"] / (4 * length)
    result = run(options.weft, "train", *more[kind], *MODEL, "--attention", expression, "--steps", options.steps, "--seed", seed, "--out", out,
                 "--max-eval-bytes", "0")
    return {"data": kind, "attention": name, "expression": expression, "seed": seed, "edges": round(edges, 1),
            "bits_per_byte": round(result["evaluation"]["bits_per_byte"], 4), "seconds": round(result["seconds"], 1)}


def table(results):
    lines = ["| data | attention | keys of a query | bits per byte |", "|---|---|---|---|"]
    for data, name in dict.fromkeys((row["data"], row["attention"]) for row in results):
        rows = [row for row in results if (row["data"], row["attention"]) == (data, name)]
        figures = ", ".join(f"{row['bits_per_byte']:.3f}" for row in rows)
        lines.append(f"| {data} | {name}: `{rows[0]['expression']}` | {rows[0]['edges']} | {figures} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", ROOT / "build/release/bin/weft"), help="the weft program")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", choices=["pictures", "sound"])
    options = parser.parse_args()
    options.out.mkdir(parents=True)
    results = []
    for kind, expressions in (("pictures", PICTURES), ("sound", SOUND)):
        if options.only not in (None, kind):
            continue
        if kind == "pictures":
            write_pictures(options.out / kind / "train", 2000, 1)
            write_pictures(options.out / kind / "held-out", 100, 2)
        else:
            write_sound(options.out / kind / "train.wav", 240, 1)
            write_sound(options.out / kind / "held-out.wav", 8, 2)
        for name, expression in expressions.items():
            for seed in range(options.seeds):
                results.append(measured(options, kind, name, expression, seed))
                with open(options.out / "results.jsonl", "a") as file:
                    file.write(json.dumps(results[-1]) + "\n")
    (options.out / "table.md").write_text(table(results))
    print(table(results), end="")


if __name__ == "__main__":
    main()
