#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seconds of one pass over a long text with a Reformer: weft beside transformers, with the same random weights.

The default is the shape of google/reformer-enwik8 (12 layers of width 1,024, chunks of 128 and 256, 4 rounds, 512 buckets) and 16,384
bytes. The peer writes the directory, and both score the same text in float32. Nothing is timed unless the losses agree: a few tokens may
lie between two buckets to the last bit and be hashed otherwise, so the mean over all tokens and the median of the differences are
compared. The programs run in turns, each run a process of its own. Run it on a machine that does nothing else.

    bench/memory/reformer.py --peer-python PYTHON [--tokens 16384] [--turns 3]
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import programs  # noqa: E402

MEAN, MEDIAN = 1e-3, 1e-4  # nats; float32 in both


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", programs.ROOT / "build/release/bin/weft"), help="the weft program")
    parser.add_argument("--peer-python", default=os.environ.get("WEFT_PEER_PYTHON", sys.executable), help="a Python that has transformers 5")
    for name, value in {"tokens": 16384, "turns": 3, "threads": 2, "layers": 12, "width": 1024}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--peer", nargs=2, metavar=("make|run", "DIR"), help=argparse.SUPPRESS)
    return parser.parse_args()


def make(chosen, directory):
    import torch
    from transformers import ReformerConfig, ReformerModelWithLMHead

    torch.manual_seed(1)
    wide = chosen.width // 4
    config = ReformerConfig(
        attn_layers=(["local", "local", "lsh", "local"] * chosen.layers)[:chosen.layers], hidden_size=chosen.width, num_attention_heads=8,
        attention_head_size=chosen.width // 8, feed_forward_size=4 * chosen.width, local_attn_chunk_length=128, lsh_attn_chunk_length=256,
        num_hashes=4, num_buckets=512, axial_pos_shape=[128, 512], axial_pos_embds_dim=[wide, chosen.width - wide],
        max_position_embeddings=65536, vocab_size=258, is_decoder=True, hash_seed=3, pad_token_id=0, initializer_range=0.05)
    ReformerModelWithLMHead(config).save_pretrained(directory)


def run_peer(chosen, directory):
    """Seconds of one pass and the nats of each token."""
    import torch
    from torch.nn import functional as F
    from transformers import ReformerModelWithLMHead

    torch.set_num_threads(chosen.threads)
    model = ReformerModelWithLMHead.from_pretrained(directory).eval()
    text = (pathlib.Path(directory) / "text.txt").read_bytes()
    ids = torch.tensor([[byte + 2 for byte in text]])
    with torch.no_grad():
        begun = time.perf_counter()
        logits = model(ids[:, :-1], use_cache=False).logits + model.lm_head.bias  # transformers 5 does not add it
        nats = F.cross_entropy(logits[0], ids[0, 1:], reduction="none")
        seconds = time.perf_counter() - begun
    print(json.dumps({"seconds": seconds, "nats": nats.tolist()}))


def peer(chosen, *arguments):
    command = [chosen.peer_python, __file__, *(f"--{name}={getattr(chosen, name)}" for name in ("tokens", "threads", "layers", "width")), "--peer", *arguments]
    print("$", " ".join(map(str, command)), file=sys.stderr, flush=True)
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True).stdout


def weft(chosen, directory):
    scores = directory / "scores.jsonl"
    found = programs.weft(chosen.weft, "eval", directory, "--text", directory / "text.txt", "--context", chosen.tokens, "--dtype", "float32",
                          "--threads", chosen.threads, "--token-scores", scores)
    nats = [json.loads(line)["bits"] * 0.6931471805599453 for line in scores.read_text().splitlines()]
    return {"seconds": found["seconds"], "nats": nats}


def check(ours, theirs):
    differences = sorted(abs(a - b) for a, b in zip(ours, theirs, strict=True))
    mean = abs(statistics.fmean(ours) - statistics.fmean(theirs))
    median = differences[len(differences) // 2]
    print(json.dumps({"mean_difference": mean, "median_difference": median, "largest": differences[-1]}), flush=True)
    if mean > MEAN or median > MEDIAN:
        raise SystemExit(f"the losses differ: {mean} nats in the mean, {median} in the median; nothing was timed")


def main():
    chosen = options()
    if chosen.peer:
        return (make if chosen.peer[0] == "make" else run_peer)(chosen, chosen.peer[1])
    print("machine:", programs.machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        directory = pathlib.Path(folder) / "reformer"
        peer(chosen, "make", directory)
        source = random.Random(9)
        (directory / "text.txt").write_bytes(bytes(source.choice(b"abcdefgh ,.\n") for _ in range(chosen.tokens + 1)))
        seconds = {"weft": [], "peer": []}
        for turn in range(chosen.turns):
            ours, theirs = weft(chosen, directory), json.loads(peer(chosen, "run", directory))
            if turn == 0:
                check(ours["nats"], theirs["nats"])
            seconds["weft"].append(ours["seconds"])
            seconds["peer"].append(theirs["seconds"])
    middle = {name: statistics.median(each) for name, each in seconds.items()}
    print(json.dumps({"tokens": chosen.tokens, **seconds, "ratio": round(middle["peer"] / middle["weft"], 2)}))
    return None


if __name__ == "__main__":
    main()
