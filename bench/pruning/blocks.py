#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model whose attention is pruned in blocks beside the same model unpruned: seconds, memory, and what it costs in loss.

Speed: an encoder of BERT's base shape for 4,096 tokens with random weights reads a text (`weft profile`), loses all but a share of its blocks of 64
(`weft prune --unit block`), and `weft bench model` times both, forwards and a training step, in turns. Which blocks a random model keeps says nothing;
how many it keeps is what time depends on. Loss: a small decoder of bytes with as long a context learns in full, is profiled and pruned to the same
share, and models with the pruned pattern and with its two controls learn from random weights for as many steps.

    bench/pruning/blocks.py --train BOOKS/train --held-out BOOKS/val --out FOLDER [--density 0.1] [--length 4096] [--turns 2] [--steps 600]
"""
import argparse
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import programs  # noqa: E402

TIMED = ("seconds", "attention_seconds", "peak_gb")
CONTROLS = {"profile": [], "random": ["--control", "random"], "window": ["--control", "window"]}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", programs.ROOT / "build/release/bin/weft"), help="the weft program")
    parser.add_argument("--train", nargs="+", required=True, help="texts to profile and to train on")
    parser.add_argument("--held-out", nargs="+", required=True, help="texts to score")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for models, patterns and results; what is there is not made again")
    parser.add_argument("--density", type=float, default=0.1, help="share of the blocks that stays")
    for name, value in {"length": 4096, "layers": 12, "hidden-size": 768, "vocabulary-size": 30522, "turns": 2, "steps": 600, "seed": 0}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--only", choices=["speed", "loss"], help="one of the two parts")
    return parser.parse_args()


def pruned(chosen, profile, name, control):
    path = chosen.out / "patterns" / f"{name}-{control}.json"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        programs.weft(chosen.weft, "prune", profile, "--unit", "block", "--density", chosen.density, *CONTROLS[control], "--no-graph", "-o", path)
    return path


def profiled(chosen, model, name, *flags):
    path = chosen.out / f"{name}.safetensors"
    if not path.exists():
        programs.run([chosen.weft, "profile", model, "--text", *chosen.train, "--context", chosen.length, "--edges", 0, *flags, "--out", path])
    return path


def base_encoder(chosen):
    tokenizer, model = chosen.out / "tokenizer", chosen.out / "full"
    if not tokenizer.exists():
        programs.weft(chosen.weft, "tokenizer", "train", *chosen.train, "--vocabulary-size", chosen.vocabulary_size, "--out", tokenizer)
    if not model.exists():
        programs.weft(chosen.weft, "init", "--family", "bert", "--tokenizer", tokenizer, "--num-hidden-layers", chosen.layers, "--hidden-size",
                      chosen.hidden_size, "--num-attention-heads", chosen.hidden_size // 64, "--intermediate-size", 4 * chosen.hidden_size,
                      "--max-position-embeddings", chosen.length, "--seed", chosen.seed, "--out", model)
    return model


def speed(chosen):
    """Prints a line for each task: figures of both models, of the fastest turn, and their ratios."""
    full = base_encoder(chosen)
    thin = chosen.out / "pruned"
    if not thin.exists():
        profile = profiled(chosen, full, "encoder", "--max-bytes", 40_000)
        programs.weft(chosen.weft, "convert", full, "--attention", f"@{pruned(chosen, profile, 'encoder', 'profile')}", "--out", thin)
    for task, flags in {"forward": [], "training step": ["--train"]}.items():
        turns = {full: [], thin: []}
        for _ in range(chosen.turns):
            for model, found in turns.items():
                found.append(programs.weft(chosen.weft, "bench", "model", model, "--length", chosen.length, "--dtype", chosen.dtype, "--repeats", 1, *flags))
        best = {model: min(found, key=lambda one: one["seconds"]) for model, found in turns.items()}
        line = {"task": task, "density": chosen.density}
        for name in TIMED:
            if name in best[full] and name in best[thin]:
                line |= {f"{name} full": best[full][name], f"{name} pruned": best[thin][name], f"{name} ratio": round(best[full][name] / best[thin][name], 2)}
        print(json.dumps(line), flush=True)


def decoder(chosen, name, attention):
    """Bits a byte of the held-out text; a run that is there is not trained again."""
    result = programs.trained(
        chosen.weft, chosen.out / "runs" / name, "--train-text", *chosen.train, "--eval-text", *chosen.held_out, "--attention", attention, "--context",
        chosen.length, "--batch-size", 1, "--layers", 2, "--width", 128, "--heads", 4, "--learning-rate", 2e-3, "--steps", chosen.steps, "--seed",
        chosen.seed, "--max-eval-bytes", 200_000)
    return result["evaluation"]["bits_per_byte"]


def loss(chosen):
    (chosen.out / "runs").mkdir(exist_ok=True)
    full = decoder(chosen, "full", "causal")
    print(json.dumps({"attention": "full", "bits_per_byte": full}), flush=True)
    profile = profiled(chosen, chosen.out / "runs" / "full", "decoder", "--max-bytes", 1_000_000)
    for control in CONTROLS:
        path = pruned(chosen, profile, "decoder", control)
        about = json.loads(path.read_text())
        found = decoder(chosen, control, f"@{path}")
        print(json.dumps({"attention": f"{chosen.density:g} of the blocks, {control}", "kept_mass": about["kept_mass"], "cost_share": about["cost_share"],
                          "bits_per_byte": found, "against full": f"{100 * (found / full - 1):+.1f}%"}), flush=True)


def main():
    chosen = options()
    chosen.out.mkdir(parents=True, exist_ok=True)
    print("machine:", programs.machine(), flush=True)
    if chosen.only != "loss":
        speed(chosen)
    if chosen.only != "speed":
        loss(chosen)


if __name__ == "__main__":
    main()
