#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training tokens a second at equal shape: 6 layers of width 256, 32 windows of 256 bytes, dense causal attention; weft beside a peer.

    bench/throughput/throughput.py --text BOOKS/train --minutes 1 --peer PEER.py [--peer-float32]
"""
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import programs  # noqa: E402

LAYERS, WIDTH, HEADS, CONTEXT, BATCH = 6, 256, 4, 256, 32


def weft_speed(chosen, text, run):
    trained = programs.weft(
        chosen.weft, "train", "--train-text", text, "--attention", "full", "--context", CONTEXT, "--batch-size", BATCH, "--layers",
        LAYERS, "--width", WIDTH, "--heads", HEADS, "--dtype", chosen.dtype, "--minutes", chosen.minutes, "--out", run)
    return trained["tokens_per_second"]


def peer_speed(chosen, text):
    trained = programs.peer(chosen, text, text, CONTEXT)
    return trained["bytes_seen"] / (trained["minutes"] * 60)


def main():
    parser = programs.parser(__doc__)
    parser.add_argument("--text", nargs="+", required=True, help="files and folders to train on")
    parser.add_argument("--dtype", default="bfloat16")
    chosen = parser.parse_args()
    print("machine:", programs.machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        text = programs.joined(chosen.text, folder / "text.txt")
        result = {"weft": round(weft_speed(chosen, text, folder / "run")), "weft_dtype": chosen.dtype}
        if chosen.peer:
            result["peer"] = round(peer_speed(chosen, text))
            result["peer_autocast"] = not chosen.peer_float32
            result["ratio"] = round(result["weft"] / result["peer"], 2)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
