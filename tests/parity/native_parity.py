#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains small decoders of every kind with `weft train` and compares `weft eval` and greedy `weft generate` with the same model in PyTorch.

On the way: the model directories load with the safetensors package, and TensorBoard reads the event files.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import native_model  # noqa: E402

WEFT = os.environ.get("WEFT_BINARY", pathlib.Path(__file__).resolve().parents[2] / "build/release/bin/weft")
CONTEXT = 48

MASKS = {
    "causal & window(left=16, right=0)": lambda q, k: q - k <= 16,
    "window(8) | global(first=2)": lambda q, k: ((q - k).abs() <= 4) | (q < 2) | (k < 2),
    "strided(8)": lambda q, k: (q - k <= 8) | ((q - k) % 8 == 0),
    "block(4, window(3)) | global(first=1, side=keys)": lambda q, k: ((q // 4 - k // 4).abs() <= 1) | (k < 1),
    "full": lambda q, k: q == q,
}
SMALL = {"layers": 2, "width": 32, "heads": 4, "context": CONTEXT, "batch-size": 4, "steps": 30, "learning-rate": 0.01, "seed": 3}
CASES = {
    "rotary, pre-norm, gelu": {"attention": ["causal & window(left=16, right=0)"]},
    "learned, post-norm, relu": {"attention": ["window(8) | global(first=2)"], "position-embedding": "learned", "norm-position": "post",
                                 "hidden-act": "relu"},
    "sinusoidal, swiglu, shared keys, untied": {"attention": ["strided(8)"], "position-embedding": "sinusoidal", "hidden-act": "swiglu",
                                                "num-key-value-heads": 2, "tie-word-embeddings": "false"},
    "a pattern a layer, gelu_new": {"attention": ["block(4, window(3)) | global(first=1, side=keys)", "full"], "hidden-act": "gelu_new",
                                    "num-key-value-heads": 1},
    "reversible, axial, untied, heads of 5, biases of the head alone": {
        "attention": ["strided(8)", "full"], "residual": "reversible", "position-embedding": "axial", "axial-pos-shape": ["7", "9"],
        "attention-head-size": 5, "attention-bias": "false", "tie-word-embeddings": "false", "lm-head-bias": "true"},
    "reversible, tied, chunks": {"attention": ["strided(8)"], "residual": "reversible", "feed-forward-chunk": 7},
    "post-norm, silu, rotary": {"attention": ["full"], "norm-position": "post", "hidden-act": "silu", "rope-theta": 500},
}


def weft(*arguments):
    return subprocess.run([WEFT, *map(str, arguments)], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout


def flags(fields):
    for name, value in fields.items():
        if value == "false":
            yield f"--no-{name}"
        else:
            yield f"--{name}"
            yield from value if isinstance(value, list) else [] if value == "true" else [value]


def sample_text(size):
    """Words drawn by a seed: something to learn, and no text of anybody's."""
    source = random.Random(5)
    words = ["".join(source.choice("abcdefghijklmnop") for _ in range(source.randint(2, 7))) for _ in range(60)]
    text = ""
    while len(text) < size:
        text += source.choice(words) + source.choice("  \n.")
    return text[:size].encode()


def check_bits(run, model, text):
    """float32 against float64 over two layers: about 1e-6 of a bit; the bound leaves a factor of ten."""
    worst = 0.0
    for context, size in [(CONTEXT, 501), (CONTEXT, CONTEXT + 1), (17, 120), (CONTEXT, 2)]:
        path = run.parent / "held_out.txt"
        path.write_bytes(text[:size])
        found = json.loads(weft("eval", run, "--text", path, "--context", context, "--dtype", "float32", "--json"))
        assert found["bytes"] == size - 1 and found["context"] == context, found
        worst = max(worst, abs(found["bits_per_byte"] - native_model.bits_per_byte(model, text[:size], context)))
    return worst, worst < 1e-5


def check_greedy(run, model, prompt):
    """The most likely bytes, one after the other: through weft's cache, and from scratch in PyTorch."""
    expected = list(prompt)
    for _ in range(24):
        expected.append(model(torch.tensor([expected]))[0, -1].argmax().item())
    found = weft("generate", run, "--prompt", prompt.decode(), "--max-new-tokens", 24, "--temperature", 0, "--json")
    return json.loads(found)["generated_text"], bytes(expected[len(prompt) :]).decode(errors="replace")


def check_events(run):
    """Every figure of metrics.jsonl is in the event files under its step, to float32."""
    accumulator = EventAccumulator(str(run), size_guidance={"scalars": 0})
    accumulator.Reload()
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    expected = {(f"train/{name}", line["step"]): value for line in lines if "eval" not in line for name, value in line.items()
                if name not in ("step", "time")}
    found = {(tag, event.step): event.value for tag in accumulator.Tags()["scalars"] for event in accumulator.Scalars(tag)
             if tag.startswith("train/")}
    assert expected.keys() == found.keys(), expected.keys() ^ found.keys()
    return all(abs(found[key] - value) <= 1e-6 * max(1.0, abs(value)) for key, value in expected.items())


def check_case(name, fields, folder):
    text = sample_text(20_000)
    corpus = folder / "corpus.txt"
    corpus.write_bytes(text)
    run = folder / "run"
    weft("train", "--train-text", corpus, "--dtype", "float32", "--out", run, *flags(SMALL | fields))
    model = native_model.NativeDecoder(run, MASKS)
    difference, equal = check_bits(run, model, text[7_000:])
    found, expected = check_greedy(run, model, text[100:110])
    events = check_events(run)
    ok = equal and found == expected and events
    print(f"{'ok' if ok else 'DIFFERS':8} {name}: bits per byte differ by {difference:.1e}; greedy "
          f"{'equal' if found == expected else f'{found} and {expected}'}; events {'equal' if events else 'differ'}", flush=True)
    return ok


def main():
    results = []
    for name, fields in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            results.append(check_case(name, fields, pathlib.Path(folder)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
