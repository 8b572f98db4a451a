#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`weft generate --input --output` against generate() of transformers, with settings drawn at random: ids equal, scores of beams within 1e-4.

The models are small decoders of Weft, which native_model.py writes down once more in PyTorch. --count says how many combinations, --seed
which ones; --only SEED runs one and prints it.

Not compared, and counted:
- near ties: where a draw, or a choice between beams, came closer than rounding reaches, the texts may differ (a score that is equal to
  1e-4 all the same, or a draw within 1e-5 of its neighbour, shows it);
- faults of transformers that Weft does not copy:
  - where fewer than num_beams texts can go on, finished ones go on behind their end with -1e9 on their score, and may be returned;
  - repetition_penalty with left padding is not tried: the count of padded places is computed before beams are expanded;
  - a batch whose candidates all end at once stops for all of its prompts; texts here do not depend on their batch.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
warnings.filterwarnings("ignore")
import torch  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

from cases import generation_cases as cases  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import native_model  # noqa: E402

WEFT = os.environ.get("WEFT_BINARY", pathlib.Path(__file__).resolve().parents[2] / "build/release/bin/weft")
VOCABULARY = 30
MASKS = {"full": lambda q, k: q == q, "causal & window(left=4, right=0)": lambda q, k: q - k <= 4}


def make_directory(directory, attention, seed):
    """A decoder of one training step, with a smaller vocabulary and weights large enough for logits that differ much."""
    text = directory.parent / "text.txt"
    text.write_bytes(bytes(range(32, 120)) * 40)
    subprocess.run([WEFT, "train", "--train-text", text, "--out", directory, "--steps", "1", "--layers", "2", "--width", "16", "--heads", "2",
                    "--context", "32", "--batch-size", "2", "--attention", attention, "--dtype", "float32"], check=True, capture_output=True)
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(config | {"vocab_size": VOCABULARY, "tokenizer_class": "huggingface"}))
    generator = torch.Generator().manual_seed(seed)
    tensors = load_file(directory / "model.safetensors")
    for name, tensor in tensors.items():
        shape = [VOCABULARY if size == config["vocab_size"] else size for size in tensor.shape]
        tensors[name] = torch.randn(shape, generator=generator) * 0.6 + (1.0 if name.endswith("norm.weight") else 0.0)
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
    return directory


def flags(settings):
    """The settings of generate() as flags."""
    for name, value in settings.items():
        flag = "--" + name.replace("_", "-")
        if name in ("bad_words_ids", "sequence_bias"):
            pairs = value if name == "sequence_bias" else [[word, None] for word in value]
            yield from (flag, *(",".join(map(str, word)) + ("" if bias is None else f":{bias}") for word, bias in pairs))
        elif name == "exponential_decay_length_penalty":
            yield from (flag, f"{value[0]}:{value[1]}")
        elif name == "early_stopping":
            yield from (flag, str(value).lower())
        elif value is True:
            yield flag
        else:
            yield from (flag, *map(str, value if isinstance(value, list) else [value]))


def ours(directory, settings, prompts, seed, folder):
    """New tokens and scores as `weft generate` gives them."""
    save_file({"input_ids": torch.tensor(prompts)}, folder / "in.safetensors")
    base = [] if settings.get("do_sample") else ["--no-do-sample"]
    given = base + list(flags({"top_k": 0} | settings)) if settings.get("do_sample") else base + list(flags(settings))
    # Fills with an id that the vocabulary does not have, so that the end of a text shows.
    process = subprocess.run([WEFT, "generate", directory, "--input", folder / "in.safetensors", "--output", folder / "out.safetensors",
                              "--pad-token-id", str(VOCABULARY), "--seed", str(seed), "--threads", "1", *given], capture_output=True, text=True)
    if process.returncode != 0:
        return None, process.stderr
    out = load_file(folder / "out.safetensors")
    texts = [[t for t in row[len(prompts[0]):] if t != VOCABULARY] for row in out["sequences"].tolist()]
    return texts, out["sequences_scores"].tolist()


def compare(mine, my_scores, theirs, their_scores, nearest, beams):
    """"equal", "not found" (a fault of transformers), "tie", or what differs."""
    if None in theirs:
        return "not found"
    if mine == theirs:
        # A sum that a negative length_penalty multiplies by a length is large, and its rounding with it.
        worst = max(abs(a - b) / max(1.0, abs(b)) for a, b in zip(my_scores, their_scores)) if beams else 0.0
        return "equal" if worst <= 1e-4 else f"scores differ by {worst}"
    if nearest < 1e-5:
        return "tie"
    if beams and max(abs(a - b) for a, b in zip(sorted(my_scores), sorted(their_scores))) < 1e-5:
        return "tie"
    return f"{mine} {my_scores}, expected {theirs} {their_scores}"


def make_models(folder):
    """A directory for each pattern, and the same model for transformers."""
    for number, (attention, mask) in enumerate(MASKS.items()):
        directory = make_directory(folder / f"model{number}", attention, number)
        decoder = native_model.NativeDecoder(directory, {attention: mask})
        yield directory, cases.FunctionModel(VOCABULARY, lambda ids, decoder=decoder: decoder(ids)[:, -1].float())


def check(seed, directory, model, folder, verbose):
    """What became of one combination of settings."""
    settings, prompts, draw_seed = cases.random_case(seed, VOCABULARY)
    try:
        theirs, their_scores, nearest = cases.generated(model, VOCABULARY, settings, prompts, draw_seed)
    except Exception as error:
        print(f"{seed}: transformers: {str(error)[:160]}")
        return "refused by transformers"
    mine, my_scores = ours(directory, settings, prompts, draw_seed, folder)
    found = f"weft: {my_scores}" if mine is None else compare(mine, my_scores, theirs, their_scores, nearest, "num_beams" in settings)
    known = found in ("equal", "not found", "tie")
    if verbose or not known:
        print(f"{seed}: {settings} {prompts}: {found}", file=sys.stderr)
    return found if known else "different"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=240)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--only", type=int)
    arguments = parser.parse_args()
    alone = arguments.only is not None
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        models = list(make_models(folder))
        for seed in [arguments.only] if alone else range(arguments.seed, arguments.seed + arguments.count):
            counts[check(seed, *models[seed % len(models)], folder, alone)] += 1
    print("combinations of settings: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return 1 if counts["different"] or not alone and counts["equal"] < 0.85 * arguments.count else 0


if __name__ == "__main__":
    sys.exit(main())
