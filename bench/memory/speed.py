#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seconds of a training step of Transformer-XL: weft beside a plain PyTorch program of the same architecture.

The default is the 12-layer model that Dai et al. 2019 trained on enwik8 (width 512, 8 heads, segments and memory of 512 bytes), with
fewer rows a step, in float32. The peer begins with Weft's initial weights and reads the same streams; nothing is timed unless its
losses are Weft's. The programs run in turns. Run it on a machine that does nothing else.

    bench/memory/speed.py --text BOOKS/train [--batch-size 4] [--steps 5] [--turns 2] [--peer-python PYTHON]
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import programs  # noqa: E402

PEER = pathlib.Path(__file__).resolve().parent / "plain_transformer_xl.py"
TOLERANCE = 1e-4  # of losses in float32, after some steps of AdamW


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", programs.ROOT / "build/release/bin/weft"), help="the weft program")
    parser.add_argument("--peer-python", default=os.environ.get("WEFT_PEER_PYTHON", sys.executable), help="a Python that has torch")
    parser.add_argument("--text", nargs="+", required=True, help="files and folders to train on")
    for name, value in {"layers": 12, "width": 512, "heads": 8, "context": 512, "memory": 512, "batch-size": 4, "steps": 5, "turns": 2,
                        "threads": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


def train(chosen, text, run, *flags):
    """The losses of a run and the seconds between its steps."""
    programs.weft(chosen.weft, "train", "--train-text", text, "--attention", "relative", "--position-embedding", "none", "--dtype", "float32",
                  "--schedule", "constant", "--memory", chosen.memory, "--context", chosen.context, "--layers", chosen.layers, "--width",
                  chosen.width, "--heads", chosen.heads, "--batch-size", chosen.batch_size, "--threads", chosen.threads, *flags, "--out", run)
    steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    steps = [step for step in steps if "loss" in step and "step" in step]
    times = [step["seconds"] for step in steps]
    return [step["loss"] for step in steps], [after - before for before, after in zip(times, times[1:])]


def peer(chosen, text, initial):
    printed = programs.run([chosen.peer_python, PEER, initial, text, "--context", chosen.context, "--memory", chosen.memory, "--batch-size",
                            chosen.batch_size, "--steps", chosen.steps, "--threads", chosen.threads])
    found = json.loads(printed)
    return found["losses"], found["seconds"][1:]


def main():
    chosen = options()
    print("machine:", programs.machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        text = programs.joined(chosen.text, folder / "all.txt")
        # Exactly the streams that the steps read: Weft has no room to begin anywhere but at the first byte.
        size = chosen.batch_size * chosen.steps * chosen.context + 1
        data = text.read_bytes()[:size]
        if len(data) < size:
            raise SystemExit(f"--text holds {len(data)} bytes, but the steps read {size}")
        text.write_bytes(data)
        train(chosen, text, folder / "initial", "--steps", 1, "--learning-rate", 0)
        ours, theirs = [], []
        for turn in range(chosen.turns):
            losses, seconds = train(chosen, text, folder / f"run{turn}", "--steps", chosen.steps, "--warmup-steps", 1)
            expected, peer_seconds = peer(chosen, text, folder / "initial")
            gap = max(abs(a - b) for a, b in zip(losses, expected, strict=True))
            print(json.dumps({"turn": turn, "weft": losses, "peer": expected, "largest_gap": gap}), flush=True)
            if gap > TOLERANCE:
                raise SystemExit(f"the losses differ by {gap}: nothing is timed")
            ours += seconds
            theirs += peer_seconds
    ours, theirs = statistics.median(ours), statistics.median(theirs)
    print(json.dumps({"weft_seconds": round(ours, 3), "peer_seconds": round(theirs, 3), "ratio": round(theirs / ours, 2)}))


if __name__ == "__main__":
    main()
