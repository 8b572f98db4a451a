#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Encoders of base size with random weights: `weft bench model` beside a peer, one after the other, as a ratio of times.

The peer is a script that takes FAMILY LENGTH DTYPE forward|train and prints one line of JSON with "seconds" and "peak_gb". Run it on a
machine that does nothing else.

    bench/models/models.py --peer PEER.py [--cases bigbird-4096 longformer-4096 bert-4096 bigbird-16384 bigbird-train]
"""
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import programs  # noqa: E402

SHAPES = {"big_bird": ["--vocab-size", 50358], "longformer": ["--vocab-size", 50265, "--pad-token-id", 1]}

# A ModernBERT with other layers in place of its full ones: the case, and what its full layers become.
SPARSE = {"modernbert-32768": "full => window(1024) | global(1)"}

# name: family, length, task, weft's dtypes, the peer's (family, dtype)s
CASES = {
    "bigbird-4096": ("big_bird", 4096, "forward", ["bfloat16", "float32"],
                     [("bigbird", "float32"), ("bigbird", "bfloat16"), ("bert", "bfloat16")]),
    "longformer-4096": ("longformer", 4096, "forward", ["bfloat16"], [("longformer", "float32"), ("longformer", "bfloat16")]),
    "bigbird-16384": ("big_bird", 16384, "forward", ["bfloat16"], [("bert", "bfloat16")]),
    "modernbert-8192": ("modernbert", 8192, "forward", ["bfloat16", "float32"], [("modernbert", "float32"), ("modernbert", "bfloat16")]),
    "modernbert-32768": ("modernbert", 32768, "forward", ["bfloat16", "float32"], []),
    "bigbird-train": ("big_bird", 4096, "train", ["bfloat16"], [("bigbird", "float32")]),
}


def options():
    parser = programs.parser(__doc__)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), help="what to measure")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the best counts")
    return programs.checked(parser.parse_args())


def weft_times(chosen, case, folder):
    """What `weft bench model` says, by dtype."""
    family, length, task, dtypes, _ = CASES[case]
    directory = folder / f"{family}-{length}"
    if not directory.exists():
        programs.weft(chosen.weft, "init", "--family", family, "--max-position-embeddings", length + 2, *SHAPES.get(family, []), "--out", directory)
    if case in SPARSE:
        sparse = folder / f"{case}-sparse"
        programs.weft(chosen.weft, "convert", directory, "--to", family, "--attention", SPARSE[case], "--length", length + 2, "--out", sparse)
        directory = sparse
    train = ["--train"] if task == "train" else []
    return {dtype: programs.weft(chosen.weft, "bench", "model", directory, "--length", length, "--dtype", dtype, "--repeats",
                                 chosen.repeats, *train) for dtype in dtypes}


def peer_times(chosen, case):
    """What the peer says, by (family, dtype)."""
    _, length, task, _, peers = CASES[case]
    encoder = ["--encoder"] if task == "forward" else []
    return {(family, dtype): programs.json_of(programs.run([chosen.peer_python, chosen.peer, family, length, dtype, task, *encoder,
                                                            "--repeats", chosen.repeats])) for family, dtype in peers}


def report(case, ours, theirs):
    for dtype, times in ours.items():
        print(json.dumps({"case": case, "weft": dtype} | {name: times.get(name) for name in (
            "seconds", "peak_gb", "gemm_bound_seconds", "share_of_bound", "attention_seconds")}), flush=True)
        for (family, peer_dtype), peer in theirs.items():
            print(json.dumps({"case": case, "peer": f"{family} {peer_dtype}", "seconds": peer["seconds"], "peak_gb": peer.get("peak_gb"),
                              "times_weft": round(peer["seconds"] / times["seconds"], 2)}), flush=True)


def main():
    chosen = options()
    print("machine:", programs.machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for case in chosen.cases:
            ours = weft_times(chosen, case, pathlib.Path(folder))
            report(case, ours, peer_times(chosen, case) if chosen.peer else {})


if __name__ == "__main__":
    main()
