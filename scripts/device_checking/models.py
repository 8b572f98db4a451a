# SPDX-License-Identifier: Apache-2.0
"""transformers' BigBird and Longformer beside the same directories in Weft: random weights, 4,096 tokens, forward, from ids to hidden states.

Times are the fastest of as many turns for both; Weft's comes from `weft bench model`, in a process of its own. `encode` is what a user of the Python
package waits for: the text's way through tokeniser and model to float32 in the memory of the CPU."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch

from . import attempts, targets, timing

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKENIZERS = ROOT / "tests/fixtures/tokenizers"
# In bfloat16, over twelve layers with random weights: what hidden states may differ by, relative to their norm.
MOST_DIFFERENCE = 0.05
TURNS = 10
SMALL = {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 2, "intermediate_size": 128}


def big_bird(transformers, sizes):
    config = transformers.BigBirdConfig(attention_type="block_sparse", vocab_size=50358, **sizes)
    return transformers.BigBirdModel(config, add_pooling_layer=False), "big_bird"


def longformer(transformers, sizes):
    config = transformers.LongformerConfig(attention_window=512, max_position_embeddings=4098, vocab_size=50265, type_vocab_size=1, **sizes)
    return transformers.LongformerModel(config, add_pooling_layer=False), "roberta"


MODELS = {"big_bird": big_bird, "longformer": longformer}


def theirs(model, length, device, turns):
    """(milliseconds called, replayed from a graph or None, bytes at most, weights among them)."""
    model = model.to(device, torch.bfloat16).eval()
    weights = sum(of.nbytes for of in (*model.parameters(), *model.buffers()))
    ids = torch.randint(10, 1000, (1, length), device=device)
    with torch.no_grad():
        called = timing.fastest(lambda: model(ids), device, turns)
        replayed = timing.replayed(lambda: model(ids), device, turns, rule=min)
        return called, replayed, weights + timing.peak(lambda: model(ids), device)


def program(words):
    """What `weft WORDS` prints, by the package of this Python. Errors: RuntimeError with the line of its error."""
    done = subprocess.run([sys.executable, "-m", "weft_attention", *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["it wrote nothing"]
        # What `weft train` will compute is there before its error; what a crash leaves has no error of weft.
        error = next((line for line in said if line.startswith("weft: error")), said[-1])
        raise RuntimeError(f"weft {words[0]} {words[1]} ended with {done.returncode}: {error}")
    return done.stdout


def ours(folder, length, device, repeats, *more):
    """(milliseconds, bytes at most, weights among them) of `weft bench model`."""
    words = ["bench", "model", folder, "--length", length, "--dtype", "bfloat16", "--repeats", repeats, "--device", device.type, "--json", *more]
    said = json.loads(program(words))
    return 1e3 * said["seconds"], round(1e9 * said["peak_gb"])


def run(device, say, is_small):
    """A line a model; where transformers or the package are not there, the line says so."""
    for name, make in MODELS.items():
        attempts.attempt(say, {"part": "models", "model": name}, lambda make=make: of_model(make, device, 1024 if is_small else 4096, is_small))


def of_model(make, device, length, is_small):
    """Ours, and what transformers takes where it can."""
    if why := attempts.absent("weft_attention", "weft_attention_runtime", "transformers"):
        return {"verdict": why}
    torch.manual_seed(3)
    with tempfile.TemporaryDirectory() as folder:
        made, why = attempts.of_rival(lambda: saved(make, SMALL if is_small else {}, folder))
        if why:
            return {"verdict": why}
        model, tokenizer = made
        shutil.copytree(TOKENIZERS / tokenizer, folder, dirs_exist_ok=True)
        found = of_ours(folder, device, length)
        times, why = attempts.of_rival(lambda: theirs(model, found["length"], device, turns_of(length)))
    return {**found, **({"verdict": why} if why else beside(times, found))}


def saved(make, sizes, folder):
    import transformers

    model, tokenizer = make(transformers, sizes)
    model.save_pretrained(folder)
    return model, tokenizer


def turns_of(length):
    return 1 if length < 4096 else TURNS


def of_ours(folder, device, length):
    """Weft on the device is also compared with Weft on the CPU in float32."""
    import weft_attention

    settings = {"device": str(device)} if device.type == "cuda" else {}
    opened = weft_attention.open(folder, dtype="bfloat16", **settings)
    text = "the " * length  # one window, cut where the model ends
    found, right = (of.encode(text, torch=True, truncate=True).float().cpu() for of in (opened, weft_attention.open(folder)))
    difference = float((found - right).norm() / right.norm())
    encode = timing.fastest(lambda: opened.encode(text, torch=True, truncate=True), device, turns_of(length))
    opened.close()
    own, memory = ours(folder, len(found), device, turns_of(length))
    wrong = None if difference <= MOST_DIFFERENCE else f"hidden states are off by {difference:.2e} from those of the CPU"
    return {"length": len(found), "forward": own, "encode": encode, "bytes": memory, "difference": difference, "wrong": wrong}


def beside(times, found):
    """What theirs() gave, and what became of the target."""
    forward, replayed, memory = times
    ratio = forward / found["forward"]
    return {"transformers_forward": forward, "transformers_replayed": replayed, "transformers_bytes": memory, "ratio": ratio,
            "verdict": targets.verdict(ratio, targets.MODEL_FORWARD, None)}  # fmt: skip
