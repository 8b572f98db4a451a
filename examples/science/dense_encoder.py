#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An encoder of BERT's shape in plain PyTorch, random weights, float32, no dropout: its time and memory as `weft bench model` measures those of Weft's.

`--attention libtorch` is scaled_dot_product_attention; `stored` keeps all scores, by two products and a softmax. A pass gives the states of one text; with
`--train` it is the loss of masked words over all positions, and its gradients. Prints JSON: seconds, the best of --repeats passes after one that is not
counted, and peak_gb, the largest resident memory of the process, in 10^9 bytes.
"""
import argparse
import json
import math
import pathlib
import resource
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests/python"))

import cpu_torch  # noqa: E402, F401: the PyTorch of .venv needs its help
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402


def stored(query, key, value):
    scores = torch.matmul(query / math.sqrt(query.shape[-1]), key.transpose(-2, -1))
    return torch.matmul(torch.softmax(scores, -1), value)


ATTENTION = {"libtorch": functional.scaled_dot_product_attention, "stored": stored}


class Layer(nn.Module):
    def __init__(self, width, heads, attention):
        super().__init__()
        self.heads, self.attention = heads, ATTENTION[attention]
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.first_norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, states):
        query, key, value = (part(states).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.query, self.key, self.value))
        mixed = self.attention(query, key, value).transpose(1, 2).flatten(2)
        states = self.first_norm(states + self.output(mixed))
        return self.second_norm(states + self.narrow(functional.gelu(self.wide(states))))


class Encoder(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.words, self.places = nn.Embedding(shape.vocabulary, shape.width), nn.Embedding(shape.length, shape.width)
        self.norm = nn.LayerNorm(shape.width)
        self.layers = nn.Sequential(*(Layer(shape.width, shape.heads, shape.attention) for _ in range(shape.layers)))
        self.dense, self.last_norm = nn.Linear(shape.width, shape.width), nn.LayerNorm(shape.width)
        self.bias = nn.Parameter(torch.zeros(shape.vocabulary))

    def forward(self, ids):
        return self.layers(self.norm(self.words(ids) + self.places.weight[:ids.shape[1]]))

    def loss(self, ids):
        states = self.last_norm(functional.gelu(self.dense(self(ids))))
        return functional.cross_entropy(functional.linear(states, self.words.weight, self.bias).flatten(0, 1), ids.flatten())


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attention", choices=list(ATTENTION), required=True)
    for name, value in {"length": 1024, "layers": 12, "width": 768, "heads": 12, "vocabulary": 30522, "repeats": 5, "threads": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=value, help=f"default {value}")
    parser.add_argument("--train", action="store_true", help="time a training step")
    return parser.parse_args()


def step(model, ids):
    model.loss(ids).backward()
    model.zero_grad()


def forward(model, ids):
    with torch.inference_mode():
        model(ids)


def seconds_of(work, model, ids):
    begin = time.perf_counter()
    work(model, ids)
    return time.perf_counter() - begin


def main():
    chosen = options()
    torch.manual_seed(0)
    torch.set_num_threads(chosen.threads)
    model = Encoder(chosen)
    ids = torch.randint(chosen.vocabulary, (1, chosen.length))
    work = step if chosen.train else forward
    work(model, ids)
    seconds = min(seconds_of(work, model, ids) for _ in range(chosen.repeats))
    print(json.dumps({"seconds": seconds, "peak_gb": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e9}))


if __name__ == "__main__":
    main()
