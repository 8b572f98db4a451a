#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step of Transformer-XL in plain PyTorch: the peer of speed.py.

It has the architecture of a run of `weft train --attention relative --position-embedding none`, begins with that run's weights and reads
the same streams of bytes, so that its losses must be those of Weft, step by step. Scores of distances are shifted as in appendix B of
Dai et al. 2019. It prints one line of JSON: the loss and the seconds of each step.

    bench/memory/plain_transformer_xl.py RUN TEXT --context N --memory N --batch-size N --steps N [--learning-rate X]
"""
import argparse
import json
import pathlib
import struct
import time

import numpy
import torch
from torch.nn import functional


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("text", type=pathlib.Path)
    for name in ("context", "memory", "batch-size", "steps"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--learning-rate", type=float, default=0.001)
    parser.add_argument("--weight-decay", type=float, default=0.1)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def tensors_of(file):
    """The tensors of a safetensors file in float32, as parameters."""
    data = file.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            values = numpy.frombuffer(data, numpy.float32, (end - begin) // 4, 8 + size + begin)
            found[name] = torch.nn.Parameter(torch.from_numpy(values.reshape(entry["shape"]).copy()))
    return found


def waves(count, width):
    """[count, width]: sines, then cosines, of distances from count - 1 down to 0."""
    frequencies = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.outer(torch.arange(count - 1, -1, -1, dtype=torch.float64), frequencies)
    return torch.cat([angles.sin(), angles.cos()], 1).float()


def shifted(scores):
    """Row i of [B, H, N, M] moves N - 1 - i places to the left; what comes in from the right lies in the future."""
    batch, heads, queries, keys = scores.shape
    padded = torch.cat([scores.new_zeros(batch, heads, queries, 1), scores], 3)
    return padded.view(batch, heads, keys + 1, queries)[:, :, 1:].view(batch, heads, queries, keys)


class TransformerXl:
    def __init__(self, folder, memory):
        config = json.loads((folder / "config.json").read_text())
        self.layers, self.width, self.heads = (config[name] for name in ("num_hidden_layers", "hidden_size", "num_attention_heads"))
        self.epsilon, self.most = config["layer_norm_eps"], memory
        self.weights = tensors_of(folder / "model.safetensors")

    def norm(self, name, x):
        return functional.layer_norm(x, (self.width,), self.weights[name + ".weight"], self.weights[name + ".bias"], self.epsilon)

    def linear(self, name, x):
        return functional.linear(x, self.weights[name + ".weight"], self.weights[name + ".bias"])

    def attention(self, layer, x, before, wave):
        """x [B, N, d] and the rows before it [B, M, d], both behind the norm."""
        name = f"layers.{layer}.attention."
        rows = torch.cat([before, x], 1)
        (batch, queries, width), keys = x.shape, rows.shape[1]
        split = lambda y: y.view(batch, -1, self.heads, width // self.heads).transpose(1, 2)  # noqa: E731
        weight, bias = self.weights[name + "qkv.weight"], self.weights[name + "qkv.bias"]
        query = split(functional.linear(x, weight[:width], bias[:width]))
        key, value = (split(part) for part in functional.linear(rows, weight[width:], bias[width:]).chunk(2, -1))
        distances = functional.linear(wave, self.weights[name + "mechanism.distances"]).view(keys, self.heads, -1).transpose(0, 1)
        content = (query + self.weights[name + "mechanism.content_bias"][:, None]) @ key.transpose(2, 3)
        by_distance = (query + self.weights[name + "mechanism.distance_bias"][:, None]) @ distances.transpose(1, 2)
        scores = (content + shifted(by_distance)) * (width // self.heads) ** -0.5
        future = torch.ones(queries, keys, dtype=torch.bool).triu(keys - queries + 1)
        mixed = scores.masked_fill(future, float("-inf")).softmax(-1) @ value
        return self.linear(name + "output", mixed.transpose(1, 2).reshape(batch, queries, width))

    def loss(self, ids, labels, memory):
        """The mean loss, and the memory of the next segment: the inputs of the layers."""
        x = functional.embedding(ids, self.weights["embeddings.tokens"])
        wave = waves(ids.shape[1] + memory[0].shape[1], self.width)
        after = []
        for layer in range(self.layers):
            name = f"layers.{layer}."
            after.append(torch.cat([memory[layer], x.detach()], 1)[:, -self.most:])
            x = x + self.attention(layer, self.norm(name + "attention_norm", x), self.norm(name + "attention_norm", memory[layer]), wave)
            inner = self.linear(name + "feed_forward.up", self.norm(name + "feed_forward_norm", x))
            x = x + self.linear(name + "feed_forward.down", functional.gelu(inner))
        logits = functional.linear(self.norm("norm", x), self.weights["embeddings.tokens"])
        return functional.cross_entropy(logits.flatten(0, 1), labels.flatten()), after


def main():
    chosen = options()
    torch.set_num_threads(chosen.threads)
    model = TransformerXl(chosen.run, chosen.memory)
    decayed = [weight for name, weight in model.weights.items() if weight.dim() > 1 and "embed" not in name and "_bias" not in name]
    others = [weight for weight in model.weights.values() if not any(weight is other for other in decayed)]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": chosen.weight_decay}, {"params": others, "weight_decay": 0.0}],
                                  lr=chosen.learning_rate, betas=(0.9, 0.95), eps=1e-8, fused=True)
    text = torch.from_numpy(numpy.frombuffer(chosen.text.read_bytes(), numpy.uint8).astype(numpy.int64))
    stream = (len(text) - 1) // chosen.batch_size
    memory = [torch.zeros(chosen.batch_size, 0, model.width) for _ in range(model.layers)]
    result = {"losses": [], "seconds": []}
    for step in range(chosen.steps):
        begin = time.perf_counter()
        rows = torch.stack([text[row * stream + step * chosen.context:][:chosen.context + 1] for row in range(chosen.batch_size)])
        loss, memory = model.loss(rows[:, :-1], rows[:, 1:], memory)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.weights.values(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        result["losses"].append(loss.item())
        result["seconds"].append(time.perf_counter() - begin)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
