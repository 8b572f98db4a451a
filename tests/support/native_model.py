# SPDX-License-Identifier: Apache-2.0
"""Weft's own decoder written down once more in plain PyTorch, float64, with dense masks: reads a model directory, gives logits."""
import json
import math
import pathlib

import torch
from safetensors.torch import load_file
from torch.nn import functional as F

ACTIVATIONS = {
    "gelu": F.gelu,
    "gelu_new": lambda x: F.gelu(x, approximate="tanh"),
    "relu": F.relu,
    "silu": F.silu,
    "swiglu": lambda x: F.silu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1],
}


class NativeDecoder:
    """`masks`: for each expression in the config, a function of (query, key) position grids that says where an edge is; the future
    is cut here."""

    def __init__(self, directory, masks):
        directory = pathlib.Path(directory)
        self.config = json.loads((directory / "config.json").read_text())
        self.tensors = {name: tensor.double() for name, tensor in load_file(directory / "model.safetensors").items()}
        self.used = set()
        self.masks = masks

    def __call__(self, ids):
        """ids [B, N] -> logits [B, N, V]."""
        c = self.config
        x = self.embed(ids)
        if c["residual"] == "reversible":
            x = self.reversible(x)
        else:
            for layer in range(c["num_hidden_layers"]):
                x = self.block(x, layer)
        if c["norm_position"] == "pre":
            x = self.norm(x, "norm")
        head = self.take("embeddings.tokens" if c["tie_word_embeddings"] else "head.weight")
        logits = x @ head.T
        if c["lm_head_bias"]:
            logits = logits + self.take("head.bias")
        assert self.used == self.tensors.keys(), self.tensors.keys() - self.used
        return logits

    def take(self, name):
        self.used.add(name)
        return self.tensors[name]

    def linear(self, x, name):
        return F.linear(x, self.take(f"{name}.weight"), self.take(f"{name}.bias") if f"{name}.bias" in self.tensors else None)

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.take(f"{name}.weight"), self.take(f"{name}.bias"), self.config["layer_norm_eps"])

    def embed(self, ids):
        c = self.config
        x = self.take("embeddings.tokens")[ids]
        if c["position_embedding"] == "learned":
            x = x + self.take("embeddings.positions")[: ids.shape[1]]
        elif c["position_embedding"] == "axial":
            rows, columns = self.take("embeddings.axial.rows"), self.take("embeddings.axial.columns")
            grid = torch.cat([rows.expand(-1, columns.shape[1], -1), columns.expand(len(rows), -1, -1)], 2)
            x = x + grid.flatten(0, 1)[: ids.shape[1]]
        elif c["position_embedding"] == "sinusoidal":
            x = x * math.sqrt(c["hidden_size"]) + waves(ids.shape[1], c["hidden_size"])
        return self.norm(x, "embeddings.norm") if c["norm_position"] == "post" else x

    def reversible(self, x):
        first = second = x
        for layer in range(self.config["num_hidden_layers"]):
            attention, feed_forward = f"layers.{layer}.attention", f"layers.{layer}.feed_forward"
            first = first + self.attend(self.norm(second, f"{attention}_norm"), layer)
            second = second + self.feed_forward(self.norm(first, f"{feed_forward}_norm"), feed_forward)
        return (first + second) / 2 if self.config["tie_word_embeddings"] else torch.cat([first, second], -1)

    def block(self, x, layer):
        attention, feed_forward = f"layers.{layer}.attention", f"layers.{layer}.feed_forward"
        if self.config["norm_position"] == "pre":
            x = x + self.attend(self.norm(x, f"{attention}_norm"), layer)
            return x + self.feed_forward(self.norm(x, f"{feed_forward}_norm"), feed_forward)
        x = self.norm(x + self.attend(x, layer), f"{attention}_norm")
        return self.norm(x + self.feed_forward(x, feed_forward), f"{feed_forward}_norm")

    def feed_forward(self, x, name):
        return self.linear(ACTIVATIONS[self.config["hidden_act"]](self.linear(x, f"{name}.up")), f"{name}.down")

    def attend(self, x, layer):
        c = self.config
        heads, key_heads = c["num_attention_heads"], c["num_key_value_heads"] or c["num_attention_heads"]
        size, (batch, length, _) = c["attention_head_size"] or c["hidden_size"] // heads, x.shape
        fused = self.linear(x, f"layers.{layer}.attention.qkv").view(batch, length, heads + 2 * key_heads, size).transpose(1, 2)
        query, key, value = fused.split([heads, key_heads, key_heads], 1)
        if c["position_embedding"] == "rotary":
            query, key = rotate(query, c["rope_theta"]), rotate(key, c["rope_theta"])
        key, value = (part.repeat_interleave(heads // key_heads, 1) for part in (key, value))
        scores = query @ key.transpose(2, 3) / math.sqrt(size)
        scores = scores.masked_fill(~self.mask(layer, length), -math.inf)
        return self.linear((scores.softmax(-1) @ value).transpose(1, 2).flatten(2), f"layers.{layer}.attention.output")

    def mask(self, layer, length):
        expressions = self.config["attention"]
        q, k = torch.arange(length)[:, None], torch.arange(length)[None, :]
        return self.masks[expressions[layer if len(expressions) > 1 else 0]](q, k) & (k <= q)


def waves(length, width):
    angles = torch.arange(length).double()[:, None] * 10000.0 ** (-torch.arange(0, width, 2).double() / width)
    return torch.stack([angles.sin(), angles.cos()], 2).flatten(1)


def rotate(x, theta):
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[-2]).double()[:, None] * theta ** (-torch.arange(half).double() / half)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin()], -1)


def bits_per_byte(model, text, context):
    """Every byte but the first scored once: windows overlap by half a context, the first counts whole, the last ends with the text."""
    ids = torch.tensor(list(text))
    targets = len(ids) - 1
    length = min(context, targets)
    nats, scored = 0.0, 0
    while scored < targets:
        end = length if scored == 0 else min(scored + length // 2, targets)
        window = ids[end - length : end + 1]
        losses = F.cross_entropy(model(window[None, :-1])[0], window[1:], reduction="none")
        nats += losses[scored - end :].sum().item()
        scored = end
    return nats / targets / math.log(2)
