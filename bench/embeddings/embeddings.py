#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Texts a second of `weft embed` beside sentence-transformers and ONNX Runtime, the same model and texts, start-up apart.

The programs take turns; each is tuned: batches by length, the best of several batch sizes. Start-up is what the same command takes for one
text. Nothing is reported unless all vectors are those of sentence-transformers in float32: within 1e-5 in float32, cosine above 0.999 in bfloat16,
and above 0.995 in the mean with int8 weights. ONNX Runtime's int8 is its dynamic quantisation, by channel; its cosines are reported as they are.

    bench/embeddings/embeddings.py --model DIR --file SENTENCES.txt --peer-python .venv-parity/bin/python3 [--lines 2000] [--threads 2] [--rounds 2]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import programs  # noqa: E402

PEERS = pathlib.Path(__file__).resolve().parent / "peers.py"
BATCHES = (32, 64)
SAME = {"float32": 1e-5}
ALIKE = 0.999  # cosine of bfloat16, whose numbers have 8 bits
INT8_ALIKE = 0.995  # mean cosine of int8 weights


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", programs.ROOT / "build/release/bin/weft"))
    parser.add_argument("--peer-python", default=os.environ.get("WEFT_PEER_PYTHON", sys.executable), help="a Python with sentence-transformers")
    parser.add_argument("--model", required=True, type=pathlib.Path, help="a directory of sentence-transformers")
    parser.add_argument("--file", required=True, type=pathlib.Path, help="a sentence a line")
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    return parser.parse_args()


def embed_seconds(chosen, dtype, file, batch, out):
    begin = time.perf_counter()
    numbers = ["--weights", "int8"] if dtype == "int8" else ["--dtype", dtype]
    programs.run([chosen.weft, "embed", chosen.model, "--file", file, *numbers, "--batch-size", batch, "--threads", chosen.threads, "--out", out, "--json"])
    return time.perf_counter() - begin


def weft(chosen, dtype, files, out):
    """Seconds of the best batch size, without what one text takes."""
    start = min(embed_seconds(chosen, dtype, files["one"], 1, out) for _ in range(2))
    best = min((embed_seconds(chosen, dtype, files["all"], batch, out), batch) for batch in BATCHES for _ in range(2))
    return {"seconds": best[0] - start, "batch_size": best[1], "start_seconds": round(start, 2)}


def peer(chosen, library, dtype, files, out):
    command = [chosen.peer_python, PEERS, library, dtype, chosen.model, files["all"], chosen.threads, out]
    found = subprocess.run(list(map(str, command)), capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": str(chosen.threads)})
    if found.returncode:
        raise SystemExit(f"{library} {dtype}: {found.stderr.strip().splitlines()[-1][:300]}")
    return json.loads(found.stdout.splitlines()[-1])


def check(name, dtype, found, wanted):
    """How far the vectors are from those wanted, or the end where they are too far."""
    cosines = (found * wanted).sum(1) / numpy.linalg.norm(found, axis=1) / numpy.linalg.norm(wanted, axis=1)
    apart = numpy.abs(found - wanted).max()
    wrong = apart > SAME[dtype] if dtype in SAME else cosines.min() < ALIKE if dtype == "bfloat16" else name == "weft" and cosines.mean() < INT8_ALIKE
    if wrong:
        raise SystemExit(f"{name} {dtype}: its vectors differ by {apart:.2e} at most, least cosine {cosines.min():.5f}; nothing is reported")
    return {"mean_cosine": round(float(cosines.mean()), 6), "least_cosine": round(float(cosines.min()), 6)}


def main():
    chosen = options()
    print("machine:", programs.machine(), flush=True)
    lines = [line for line in chosen.file.read_text().splitlines() if line.strip()][:chosen.lines]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        files = {"all": folder / "all.txt", "one": folder / "one.txt"}
        files["all"].write_text("\n".join(lines) + "\n")
        files["one"].write_text(lines[0] + "\n")
        runs = [("sentence-transformers", "float32"), ("onnxruntime", "float32"), ("weft", "float32"), ("sentence-transformers", "bfloat16"), ("weft", "bfloat16"),
                ("onnxruntime", "int8"), ("weft", "int8")]  # fmt: skip
        best, wanted = {}, None
        for _ in range(chosen.rounds):
            for name, dtype in runs:
                out = folder / "vectors.npy"
                found = weft(chosen, dtype, files, out) if name == "weft" else peer(chosen, name, dtype, files, out)
                vectors = numpy.load(out)
                wanted = vectors if wanted is None else wanted
                found |= check(name, dtype, vectors, wanted)
                if (name, dtype) not in best or found["seconds"] < best[name, dtype]["seconds"]:
                    best[name, dtype] = found
    for (name, dtype), found in best.items():
        print(json.dumps({"program": name, "dtype": dtype, "texts_per_second": round(len(lines) / found["seconds"], 1), **found}))
    for dtype in ("float32", "bfloat16", "int8"):
        others = min(found["seconds"] for (name, kind), found in best.items() if name != "weft" and kind == dtype)
        print(f"{dtype}: weft is {others / best['weft', dtype]['seconds']:.2f} times as fast as the best of the others")
    print(f"weft: int8 is {best['weft', 'float32']['seconds'] / best['weft', 'int8']['seconds']:.2f} times as fast as float32")


if __name__ == "__main__":
    main()
