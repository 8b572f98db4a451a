#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training tokens a second at equal shape: 6 layers of width 256, 32 windows of 256 bytes, dense causal attention; weft beside a peer.

The two programs take turns, and who begins changes from round to round, so that a machine that slows down slows both. Each is
reported by the median of its rounds: tokens shown over the seconds that its training really took, the step that runs over included.

    bench/throughput/throughput.py --text BOOKS/train --minutes 1 --rounds 3 --peer PEER.py [--peer-float32]
"""
import json
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import programs  # noqa: E402

LAYERS, WIDTH, HEADS, CONTEXT, BATCH = 6, 256, 4, 256, 32
HELD_OUT_BYTES = 20_000  # the peer always scores something; its time is not counted


def options():
    parser = programs.parser(__doc__)
    parser.set_defaults(minutes=1.0)
    parser.add_argument("--text", nargs="+", required=True, help="files and folders to train on")
    parser.add_argument("--dtype", default="bfloat16", help="of weft's products; the peer's are bfloat16 unless --peer-float32")
    parser.add_argument("--rounds", type=int, default=3, help="how often each program runs")
    return programs.checked(parser.parse_args())


def weft_speed(chosen, text, folder):
    with tempfile.TemporaryDirectory(dir=folder) as run:
        trained = programs.weft(
            chosen.weft, "train", "--train-text", text, "--attention", "full", "--context", CONTEXT, "--batch-size", BATCH, "--layers",
            LAYERS, "--width", WIDTH, "--heads", HEADS, "--dtype", chosen.dtype, "--minutes", chosen.minutes, "--checkpoint-minutes", 0,
            "--out", run)
    return trained["tokens_per_second"]


def peer_speed(chosen, text, folder):
    held_out = folder / "held_out.txt"
    held_out.write_bytes(text.read_bytes()[:HELD_OUT_BYTES])
    trained = programs.peer(chosen, text, held_out, CONTEXT)
    return trained["bytes_seen"] / trained["clock_seconds"]


def measure(chosen, text, folder):
    """Tokens a second of each program, a list with a figure a round."""
    runners = {"weft": weft_speed, **({"peer": peer_speed} if chosen.peer else {})}
    speeds = {name: [] for name in runners}
    for turn in range(chosen.rounds):
        for name in list(runners) if turn % 2 == 0 else reversed(runners):
            speeds[name].append(runners[name](chosen, text, folder))
            print(f"round {turn + 1}, {name}: {speeds[name][-1]:,.0f} tokens a second", flush=True)
    return speeds


def main():
    chosen = options()
    print("machine:", programs.machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        speeds = measure(chosen, programs.joined(chosen.text, folder / "text.txt"), folder)
    result = {name: round(statistics.median(rounds)) for name, rounds in speeds.items()}
    result["weft_dtype"] = chosen.dtype
    if chosen.peer:
        result["peer_autocast"] = not chosen.peer_float32
        result["ratio"] = round(result["weft"] / result["peer"], 3)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
