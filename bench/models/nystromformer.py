#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The forward pass of Nystromformer-base with random weights: weft beside transformers with the same landmarks.

Both programs read one directory (`weft init`) whose segment_means_seq_len is the length, so that transformers computes landmarks. Nothing is timed
unless the outputs agree: float32 within 1e-3, bfloat16 no farther from float32 than twice transformers' own. The programs run in turns. transformers
5.23 cannot compute landmarks of a bfloat16 model (its inverse is float32), so that its bfloat16 is a float32 model under autocast,
which keeps the sums between layers in float32, where a bfloat16 model rounds them.

    bench/models/nystromformer.py --peer-python PYTHON [--length 4096] [--landmarks 64] [--turns 3] [--repeats 2] [--threads 2] [--dtypes float32]
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import programs  # noqa: E402

DTYPES = ("float32", "bfloat16")
SAME, WORSE = 1e-3, 2


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", programs.ROOT / "build/release/bin/weft"), help="the weft program")
    parser.add_argument("--peer-python", default=os.environ.get("WEFT_PEER_PYTHON", sys.executable), help="a Python that has transformers")
    for name, value in {"length": 4096, "landmarks": 64, "turns": 3, "repeats": 2, "threads": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=list(DTYPES), help="without fast bfloat16 products the peer takes minutes for that one")
    parser.add_argument("--as-peer", nargs=2, metavar=("DIRECTORY", "DTYPE"), help="run transformers and print its times; --ids and --out hand over tensors")
    parser.add_argument("--ids", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def run_as_peer(chosen):
    """Inside the peer's Python: seconds of each run, and the hidden states as a file."""
    import torch
    import transformers
    from safetensors.torch import load_file, save_file

    directory, dtype = chosen.as_peer
    torch.set_num_threads(chosen.threads)
    model = transformers.AutoModel.from_pretrained(directory, dtype=torch.float32).eval()
    ids = load_file(chosen.ids)["input_ids"]
    seconds = []
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bfloat16"):
        for _ in range(chosen.repeats + 1):
            begin = time.perf_counter()
            hidden = model(ids).last_hidden_state
            seconds.append(time.perf_counter() - begin)
    if chosen.out:
        save_file({"last_hidden_state": hidden.float().contiguous()}, chosen.out)
    print(json.dumps({"seconds": min(seconds[1:])}))


def peer(chosen, directory, ids, dtype, out=None):
    flags = ["--length", chosen.length, "--repeats", chosen.repeats, "--threads", chosen.threads, "--ids", ids, *(["--out", out] if out else [])]
    return programs.json_of(programs.run([chosen.peer_python, __file__, "--as-peer", directory, dtype, *flags]))["seconds"]


# The peer's Python has what reads and writes tensors; this one may not.
DISTANCES = """
import sys, torch
from safetensors.torch import load_file
exact, *others = [load_file(path)["last_hidden_state"].double() for path in sys.argv[1:]]
for other in others:
    difference = (other - exact).abs()
    print(difference.max().item(), difference.square().mean().sqrt().item())
"""
IDS = """
import sys, torch
from safetensors.torch import save_file
torch.manual_seed(3)
save_file({"input_ids": torch.randint(5, 30000, (1, int(sys.argv[2])))}, sys.argv[1])
"""


def check(chosen, directory, ids, folder):
    """Errors unless both programs compute the same."""
    found = {}
    for dtype in {"float32", *chosen.dtypes}:
        found[f"peer-{dtype}"] = folder / f"peer-{dtype}.safetensors"
        peer(chosen, directory, ids, dtype, found[f"peer-{dtype}"])
    for dtype in chosen.dtypes:
        found[dtype] = folder / f"{dtype}.safetensors"
        programs.run([chosen.weft, "forward", directory, "--input", ids, "--output", found[dtype], "--dtype", dtype, "--threads", chosen.threads])
    names = ["peer-float32"] + [name for name in ("float32", "bfloat16", "peer-bfloat16") if name in found]
    printed = programs.run([chosen.peer_python, "-c", DISTANCES, *(found[name] for name in names)])
    apart = {name: tuple(map(float, line.split())) for name, line in zip(names[1:], printed.splitlines())}  # largest, root of the mean square
    print(json.dumps({name: {"largest": largest, "rms": rms} for name, (largest, rms) in apart.items()}), flush=True)
    same = apart["float32"][0] <= SAME if "float32" in apart else True
    near = apart["bfloat16"][1] <= WORSE * apart["peer-bfloat16"][1] if "bfloat16" in apart else True
    if not (same and near):
        raise SystemExit("the outputs differ: nothing is timed")


def main():
    chosen = options()
    if chosen.as_peer:
        return run_as_peer(chosen)
    print("machine:", programs.machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        directory, ids = folder / "model", folder / "ids.safetensors"
        programs.weft(chosen.weft, "init", "--family", "nystromformer", "--head", "none", "--max-position-embeddings", chosen.length,
                      "--num-landmarks", chosen.landmarks, "--segment-means-seq-len", chosen.length, "--out", directory)
        programs.run([chosen.peer_python, "-c", IDS, ids, chosen.length])
        check(chosen, directory, ids, folder)
        seconds = {(program, dtype): [] for program in ("weft", "peer") for dtype in chosen.dtypes}
        for _ in range(chosen.turns):
            for dtype in chosen.dtypes:
                ours = programs.weft(chosen.weft, "bench", "model", directory, "--length", chosen.length, "--dtype", dtype, "--repeats", chosen.repeats,
                                     "--threads", chosen.threads)
                seconds["weft", dtype].append(ours["seconds"])
                seconds["peer", dtype].append(peer(chosen, directory, ids, dtype))
        for (program, dtype), times in seconds.items():
            print(json.dumps({"program": program, "dtype": dtype, "median_seconds": round(statistics.median(times), 3),
                              "seconds": [round(value, 3) for value in times]}), flush=True)
        for dtype in chosen.dtypes:
            ratios = [theirs / ours for ours, theirs in zip(seconds["weft", dtype], seconds["peer", dtype])]
            print(json.dumps({"dtype": dtype, "times_weft": round(statistics.median(ratios), 2), "turns": [round(ratio, 2) for ratio in ratios]}), flush=True)
        best = {program: min(statistics.median(seconds[program, dtype]) for dtype in chosen.dtypes) for program in ("weft", "peer")}
        print(json.dumps({"best_dtype_of_each": round(best["peer"] / best["weft"], 2), "load_at_the_end": os.getloadavg()[0]}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
