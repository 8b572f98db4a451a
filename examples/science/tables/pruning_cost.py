# SPDX-License-Identifier: Apache-2.0
"""Time and memory of attention, and of a whole encoder, with nine tenths of the attention pruned, beside full attention of three kinds: by Weft's kernel, by
LibTorch's scaled_dot_product_attention, and by LibTorch's products and softmax with all scores in memory, as programs without a fused kernel compute it.

Rugina et al. (2020) have such figures of SQuAD: 86.4 s and 5.00 GB with 90% pruned, 95.8 s and 6.24 GB with dense products, 95.4 s and 6.85 GB with a
sparse kernel that prunes nothing. Here one call of attention has BERT's heads (12 of 64), and the encoder four layers of its width, in float32, forwards
and in a training step without dropout. Weights are random: what a profile keeps of them says nothing, how many blocks it keeps is what time depends on.
So each layer keeps a tenth, and the call of attention, which is the first layer's, too; which blocks of which heads is up to `weft prune`. The memory of
an encoder is that of its process, where LibTorch's rows have a Python as well. A seed is a repetition. Run nothing else meanwhile. F1 is in table
squad_pruning.
"""
import json
import pathlib
import tempfile

from world import torch_python

CLAIM = "With nine tenths of its blocks pruned, attention takes at most half the time and half the memory of every kind of full attention."
FIGURE, BETTER, GROUP, NEEDS = "attention_ms", "smaller", "tokens", ["books/train"]
LENGTHS = (1024, 2048, 4096)
STORED, LIBTORCH, WEFT = "LibTorch, all scores stored", "LibTorch", "Weft"
LAYERS, WIDTH, HEADS, VOCABULARY, PROFILED = 4, 768, 12, 8192, 40_000
ROUNDS, REPEATS = 3, 2
PEER = pathlib.Path(__file__).resolve().parents[1] / "dense_encoder.py"
# How dense attention is named by `weft bench attention` and by dense_encoder.py.
DENSE = {STORED: ("stored", "stored", ["--stored-scores"]), LIBTORCH: ("dense", "libtorch", [])}
MEGABYTE = 1e6


def cells():
    for tokens in LENGTHS:
        yield from ({"tokens": tokens, "attention": attention, "pruned": 0, "block": ""} for attention in (STORED, LIBTORCH, WEFT))
        yield from ({"tokens": tokens, "attention": WEFT, "pruned": 90, "block": block} for block in (64, 32))


def attention_figures(found, prefix=""):
    names = {"attention_ms": "forward_ms", "attention_mb": "forward_bytes", "attention_step_ms": "forward_backward_ms",
             "attention_step_mb": "forward_backward_bytes"}
    return {name: found[prefix + field] / (MEGABYTE if name.endswith("mb") else 1) for name, field in names.items()}


def timed_attention(world, pattern, tokens, *flags, folder=None):
    return world.weft("bench", "attention", "--pattern", pattern, "--length", tokens, "--heads", HEADS, "--head-dim", WIDTH // HEADS, "--dtype", "float32",
                      "--rounds", ROUNDS, "--threads", world.threads, "--backward", *flags, folder=folder)


def dense(cell, world):
    prefix, kind, flags = DENSE[cell["attention"]]
    shape = ["--length", cell["tokens"], "--layers", LAYERS, "--width", WIDTH, "--heads", HEADS, "--vocabulary", VOCABULARY, "--repeats", REPEATS,
             "--threads", world.threads]
    forward, step = (json.loads(world.apart(torch_python(), PEER, "--attention", kind, *shape, *more)) for more in ([], ["--train"]))
    return attention_figures(timed_attention(world, "full", cell["tokens"], *flags), f"{prefix}_"), forward, step


def encoder(world, tokens, seed, folder):
    tokenizer = world.made(world.folder / "tokenizer", "tokenizer", "train", world.data / "books/train", "--vocabulary-size", VOCABULARY, "--max-bytes",
                           4_000_000)
    model = folder / "model"
    world.weft("init", "--family", "bert", "--tokenizer", tokenizer, "--num-hidden-layers", LAYERS, "--hidden-size", WIDTH, "--num-attention-heads", HEADS,
               "--intermediate-size", 4 * WIDTH, "--max-position-embeddings", tokens, "--hidden-dropout-prob", 0, "--attention-probs-dropout-prob", 0,
               "--seed", seed, "--out", model)
    return model


def pruned(world, cell, model, folder):
    """(model, pattern of its first layer, the folder that the pattern's graphs lie below)."""
    profile, patterns, thin, block = folder / "profile.safetensors", folder / "pruned.json", folder / "pruned", cell["block"]
    world.run("profile", model, "--text", world.data / "books/train", "--max-bytes", PROFILED, "--context", cell["tokens"], "--edges", 0, "--tile", block,
              "--out", profile)
    world.weft("prune", profile, "--unit", "block", "--block", block, "--density", round(1 - cell["pruned"] / 100, 6), "--scope", "layer", "--no-graph",
               "-o", patterns)
    world.weft("convert", model, "--attention", f"@{patterns}", "--out", thin)
    return thin, json.loads(patterns.read_text(encoding="utf-8"))["attention"][0], folder


def sparse(cell, seed, world, folder):
    """By Weft's kernel."""
    model, pattern, below = encoder(world, cell["tokens"], seed, folder), "full", None
    if cell["pruned"]:
        model, pattern, below = pruned(world, cell, model, folder)
    shape = ["--length", cell["tokens"], "--dtype", "float32", "--repeats", REPEATS, "--threads", world.threads]
    forward, step = (world.weft("bench", "model", model, *shape, *more) for more in ([], ["--train"]))
    return attention_figures(timed_attention(world, pattern, cell["tokens"], "--no-dense", folder=below)), forward, step


def run(cell, seed, world):
    if cell["attention"] in DENSE:
        attention, forward, step = dense(cell, world)
    else:
        with tempfile.TemporaryDirectory(dir=world.folder) as folder:
            attention, forward, step = sparse(cell, seed, world, pathlib.Path(folder))
    return attention | {"model_s": forward["seconds"], "model_gb": forward["peak_gb"], "step_s": step["seconds"], "step_gb": step["peak_gb"]}
