#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`weft profile` against the attentions of transformers (eager, output_attentions): BERT of 600 tokens and BART with cross-attention, random weights.

The sums of a profile are those of the probabilities of all texts, one text at a time without padding: by edge, key, distance and tile, with rows and
entropy. transformers computes each text in float64 too, and both are judged against that: a mean probability of Weft differs from it by at most 1e-6, or
1.2 times as much as that of transformers in float32, where float32 itself is no nearer.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import torch
from safetensors import safe_open
from transformers import AutoModel, AutoTokenizer, logging

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
sys.path.insert(0, str(ROOT / "tests/parity"))

import align_parity  # noqa: E402
from encoder_program import make_model  # noqa: E402
from weft_program import BINARY, environment  # noqa: E402

EXACT, WORSE = 1e-6, 1.2
DTYPES = (torch.float32, torch.float64)
logging.set_verbosity_error()  # the base model has no head
TILE = 16
MASS, ENTROPY = 2.0**-36, 2.0**-28


def profile(directory, out, *arguments):
    command = [BINARY, "profile", directory, "--out", out, "--tile", TILE, "--threads", 1, *arguments]
    subprocess.run(list(map(str, command)), check=True, env=environment(), stdout=subprocess.DEVNULL)
    with safe_open(out, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}
        return tensors, json.loads(file.metadata()["weft_profile"])


class Sums:
    """What a profile should hold of one layer's attention."""

    def __init__(self, heads, queries, keys):
        self.edge = torch.zeros(heads, queries, keys, dtype=torch.float64)
        self.rows = torch.zeros(heads, queries, dtype=torch.int64)
        self.entropy = torch.zeros(heads, dtype=torch.float64)

    def add(self, weights):
        """weights [heads, N, S] of one text."""
        weights = weights.double()
        _, queries, keys = weights.shape
        self.edge[:, :queries, :keys] += weights
        self.rows[:, :queries] += 1
        self.entropy -= torch.xlogy(weights, weights).sum((1, 2))

    def expected(self):
        heads, queries, keys = self.edge.shape
        tiles = torch.zeros(heads, -(-queries // TILE), -(-keys // TILE), dtype=torch.float64)
        for row in range(tiles.shape[1]):
            for column in range(tiles.shape[2]):
                tiles[:, row, column] = self.edge[:, row * TILE:(row + 1) * TILE, column * TILE:(column + 1) * TILE].sum((1, 2))
        distances = torch.stack([self.edge.diagonal(-d, 1, 2).sum(-1) for d in range(1 - keys, queries)], -1)
        return {"edge_mass": self.edge, "key_mass": self.edge.sum(1), "distance_mass": distances, "tile_mass": tiles}


def mean_differences(found, sums):
    """The largest of a mean probability and of a mean entropy of `found`, tensors by kind, from those of `sums`."""
    texts, rows = int(sums.rows.max()), int(sums.rows[0].sum())
    # The mean of what one entry sums: rows of a text times texts.
    summed = {"edge_mass": texts, "key_mass": rows, "distance_mass": texts, "tile_mass": texts * TILE}
    largest = 0.0
    for kind, expected in sums.expected().items():
        assert found[kind].shape == expected.shape, (kind, found[kind].shape, expected.shape)
        largest = max(largest, (found[kind] - expected).abs().max().item() / summed[kind])
    return largest, ((found["entropy"] - sums.entropy).abs() / sums.rows.sum(1)).max().item()


def compare(name, tensors, theirs, exact):
    found = {kind: tensors[f"{name}.{kind}"].double() * MASS for kind in exact.expected()} | {"entropy": tensors[f"{name}.entropy"].double() * ENTROPY}
    assert torch.equal(tensors[f"{name}.rows"], exact.rows), name
    mass, entropy = mean_differences(found, exact)
    their_mass, their_entropy = mean_differences(theirs.expected() | {"entropy": theirs.entropy}, exact)
    good = mass <= max(EXACT, WORSE * their_mass) and entropy <= 10 * EXACT
    print(f"{'ok' if good else 'DIFFERS':8} {name}: mean probabilities {mass:.1e} (transformers {their_mass:.1e}), "
          f"mean entropy {entropy:.1e} ({their_entropy:.1e})", flush=True)
    return good


def texts(count, words):
    draw = random.Random(3)
    return [" ".join(draw.choice(align_parity.WORDS[:8]) for _ in range(draw.choice(words))) for _ in range(count)]


def check_bert(folder):
    directory = make_model(folder / "bert", "bert", "masked-lm", "--max-position-embeddings", "600")
    lines = texts(9, [1, 20, 61, 180]) + texts(2, [590])
    (folder / "texts.txt").write_text("".join(line + "\n" for line in lines))
    tensors, about = profile(directory, folder / "bert.safetensors", "--data", folder / "texts.txt", "--batch-size", 3, "--context", 600)
    tokenizer = AutoTokenizer.from_pretrained(directory)
    models = [AutoModel.from_pretrained(directory, attn_implementation="eager", dtype=dtype).eval() for dtype in DTYPES]
    sums = [None, None]
    tokens = 0
    encoded = [tokenizer(line, truncation=True, max_length=600, return_overflowing_tokens=True, stride=0) for line in lines]
    windows = [ids for one in encoded for ids in one["input_ids"]]
    longest = max(map(len, windows))
    for ids in windows:
        for number, model in enumerate(models):
            with torch.no_grad():
                layers = model(input_ids=torch.tensor([ids]), output_attentions=True).attentions
            sums[number] = sums[number] or [Sums(layer.shape[1], longest, longest) for layer in layers]
            for one, layer in zip(sums[number], layers):
                one.add(layer[0])
        tokens += len(ids)
    assert about["data"]["tokens"] == tokens, (about["data"], tokens)
    return all([compare(f"layers.{number}.self", tensors, *both) for number, both in enumerate(zip(*sums))])


def check_bart(folder):
    directory = folder / "bart"
    directory.mkdir()
    model, sides = align_parity.make_bart(directory)
    pairs = list(zip(texts(12, [1, 5, 30]), reversed(texts(12, [2, 9, 21]))))
    for name, column in (("source", 0), ("target", 1)):
        (folder / name).write_text("".join(pair[column] + "\n" for pair in pairs))
    tensors, _ = profile(directory, folder / "bart.safetensors", "--source", folder / "source", "--target", folder / "target", "--batch-size", 5)
    ids = [sides(*pair)[0::2] for pair in pairs]
    source, target = (max(len(pair[side]) for pair in ids) for side in (0, 1))
    shapes = {"encoder.layers.{}.self": (source, source), "decoder.layers.{}.self": (target, target), "decoder.layers.{}.cross": (target, source)}
    sums = {}
    start = model.config.decoder_start_token_id
    for which, dtype in enumerate(DTYPES):
        model.to(dtype)
        for first, second in ids:
            with torch.no_grad():
                found = model(input_ids=torch.tensor([first]), decoder_input_ids=torch.tensor([[start, *second[:-1]]]), output_attentions=True)
            for name, layers in zip(shapes, (found.encoder_attentions, found.decoder_attentions, found.cross_attentions)):
                for number, layer in enumerate(layers):
                    one = sums.setdefault(name.format(number), [Sums(layer.shape[1], *shapes[name]) for _ in DTYPES])[which]
                    one.add(layer[0])
    return all([compare(name, tensors, *both) for name, both in sums.items()])


def main():
    with tempfile.TemporaryDirectory() as folder:
        return 0 if all([check_bert(pathlib.Path(folder)), check_bart(pathlib.Path(folder))]) else 1


if __name__ == "__main__":
    sys.exit(main())
