#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conventions of two released programs beside Weft: kimiyoung's Transformer-XL (PyTorch) and trax's Reformer.

Neither program runs here. What they compute is written down below in float64, from the rules in their sources, and given the weights that `weft train` made.
`weft eval` and `weft generate` then compute the same models. docs/long-texts/memory.md and docs/long-texts/hashing.md have the tables of what is the same and what is not.
"""
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEFT = os.environ.get("WEFT_BINARY", ROOT / "build/release/bin/weft")
NATS = 1e-4  # Weft in float32, two layers
failed = 0


def report(good, text):
    global failed
    failed += not good
    print(f"{'ok' if good else 'DIFFERS':8} {text}", flush=True)


def weft(*arguments):
    process = subprocess.run([WEFT, *map(str, arguments)], capture_output=True, text=True)
    if process.returncode:
        raise SystemExit(f"weft {arguments}: {process.stderr}")
    return process.stdout


def weights_of(directory):
    return {name: tensor.double() for name, tensor in load_file(pathlib.Path(directory) / "model.safetensors").items()}


def token_nats(directory, text, *flags):
    """Nats of every token but the first, in the order of the text, by `weft eval`."""
    scores = text.with_suffix(".jsonl")
    weft("eval", directory, "--text", text, "--dtype", "float32", "--token-scores", scores, "--json", *flags)
    return torch.tensor([json.loads(line)["bits"] for line in scores.read_text().splitlines()], dtype=torch.float64) * math.log(2)


def norm(x, weights, name, eps):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weights[f"{name}.weight"], weights[f"{name}.bias"], eps)


# --- kimiyoung's Transformer-XL ---------------------------------------------------------------------------------------------------------------------


class Kimiyoung:
    """One row of the batch, segment by segment. `clusters` turns the weights of Weft's directory, whose clusters count from the first, round."""

    def __init__(self, directory, clusters):
        self.weights, self.config = weights_of(directory), json.loads((pathlib.Path(directory) / "config.json").read_text())
        self.ends = [0, *self.config["cutoffs"], self.config["vocab_size"]]
        self.memories = None  # begins with no rows, and not with zeros
        self.rows = {}
        for name in ("crit.cluster_weight", "crit.cluster_bias"):
            if name in self.weights and clusters == "turned":
                self.weights[name] = self.weights[name].flip(0)

    def embedded(self, ids):
        rows = []
        for token in ids.tolist():
            if self.config["div_val"] == 1:
                row = self.weights["transformer.word_emb.emb_layers.0.weight"][token]
            else:
                cluster = sum(token >= end for end in self.ends[1:-1])
                row = self.weights[f"transformer.word_emb.emb_projs.{cluster}"] @ \
                    self.weights[f"transformer.word_emb.emb_layers.{cluster}.weight"][token - self.ends[cluster]]
            rows.append(row)
        return torch.stack(rows) * math.sqrt(self.config["d_model"])

    def visible(self, queries, before):
        """[queries, before + queries]; with same_length the rule that shifts a triangle by how full the memory is."""
        keys = before + queries
        i, j = torch.arange(queries)[:, None], torch.arange(keys)[None]
        seen = j <= i + before
        if self.config["same_length"]:
            beyond = keys - self.config["mem_len"]
            seen &= j > i - (queries - beyond if beyond > 0 else queries)
        return seen

    def attended(self, x, memory, layer):
        heads, width = self.config["n_head"], self.config["d_head"]
        name = f"transformer.layers.{layer}.dec_attn."
        query, key, value = ((torch.cat([memory, x]) @ self.weights[name + "qkv_net.weight"].T).unflatten(1, (3, heads, width)).unbind(1))
        query = query[-len(x):]
        distance = (torch.arange(len(x))[:, None] + len(memory) - torch.arange(len(key))[None]).clamp(min=0)
        if self.config["clamp_len"] > 0:
            distance = distance.clamp(max=self.config["clamp_len"])
        d_model = self.config["d_model"]
        angles = distance[..., None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
        waves = torch.cat([angles.sin(), angles.cos()], -1).double() @ self.weights[name + "r_net.weight"].T
        waves = waves.unflatten(-1, (heads, width))
        u, v = self.weights["transformer.r_w_bias"], self.weights["transformer.r_r_bias"]  # of all layers
        scores = torch.einsum("ihd,jhd->hij", query + u, key) + torch.einsum("ihd,ijhd->hij", query + v, waves)
        scores = (scores / math.sqrt(width)).masked_fill(~self.visible(len(x), len(memory)), -torch.inf)
        mixed = torch.einsum("hij,jhd->ihd", scores.softmax(-1), value).flatten(1)
        return norm(x + mixed @ self.weights[name + "o_net.weight"].T, self.weights, name + "layer_norm", self.config["layer_norm_epsilon"])

    def hidden(self, ids):
        x = self.embedded(ids)
        memories = self.memories or [x[:0]] * (self.config["n_layer"] + 1)
        inputs = [x]
        for layer in range(self.config["n_layer"]):
            x = self.attended(x, memories[layer], layer)
            name = f"transformer.layers.{layer}.pos_ff."
            wide = torch.relu(x @ self.weights[name + "CoreNet.0.weight"].T + self.weights[name + "CoreNet.0.bias"])
            x = norm(x + wide @ self.weights[name + "CoreNet.3.weight"].T + self.weights[name + "CoreNet.3.bias"], self.weights, name + "layer_norm",
                     self.config["layer_norm_epsilon"])
            inputs.append(x)
        self.memories = [torch.cat(both)[-self.config["mem_len"]:] for both in zip(memories, inputs)]
        return x

    def logarithms(self, x, cluster):
        narrow = x @ self.weights[f"crit.out_projs.{cluster}"] if self.config["div_val"] > 1 else x
        if self.config["div_val"] > 1:
            weight, bias = (self.weights[f"crit.out_layers.{cluster}.{kind}"] for kind in ("weight", "bias"))
        else:
            weight, bias = (self.weights[f"crit.out_layers.0.{kind}"][self.ends[cluster]:self.ends[cluster + 1]] for kind in ("weight", "bias"))
        if cluster == 0 and len(self.ends) > 2:
            weight, bias = torch.cat([weight, self.weights["crit.cluster_weight"]]), torch.cat([bias, self.weights["crit.cluster_bias"]])
        return (narrow @ weight.T + bias).log_softmax(-1)

    def nats(self, x, targets):
        """By cluster, in each in the order of the text: without keep_order. -> them and the place of each in the text."""
        first, nats, places = self.logarithms(x, 0), [], []
        for cluster in range(len(self.ends) - 1):
            rare = self.logarithms(x, cluster) if cluster else None
            for place, target in enumerate(targets.tolist()):
                if self.ends[cluster] <= target < self.ends[cluster + 1]:
                    inside = rare[place, target - self.ends[cluster]] + first[place, -cluster] if cluster else first[place, target]
                    nats.append(-inside)
                    places.append(place)
        return torch.stack(nats), torch.tensor(places)

    def text(self, ids, segment):
        """-> nats in the order of the text, and those that the program returns for each segment."""
        ordered, returned = [], []
        for begin in range(0, len(ids) - 1, segment):
            count = min(segment, len(ids) - 1 - begin)
            nats, places = self.nats(self.hidden(ids[begin:begin + count]), ids[begin + 1:begin + 1 + count])
            returned.append((nats, places))
            ordered.append(torch.empty_like(nats).index_copy(0, places, nats))
        return torch.cat(ordered), returned


def check_kimiyoung(folder):
    source = random.Random(2)
    names = ["<eos>", "<unk>", *(f"w{i}" for i in range(298))]
    ids = torch.tensor([int(source.random() ** 3 * 300) for _ in range(400)])
    (folder / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(names)}))
    text = folder / "words.txt"
    text.write_text(" ".join(names[i] if i > 0 else "\n" for i in ids.tolist()))
    cases = {"clusters, div_val 2": ("relative(left=15, clamp=9, biases=shared)", ["--vocabulary-cutoffs", 20, 80, 200, "--vocabulary-division", 2]),
             "clusters, div_val 1, no clamp": ("relative(left=15, biases=shared)", ["--vocabulary-cutoffs", 20, 80]),
             "no clusters, not same_length": ("relative(clamp=9, biases=shared)", [])}
    for number, (name, (attention, flags)) in enumerate(cases.items()):
        run, directory = folder / f"run{number}", folder / f"xl{number}"
        weft("train", "--train-text", text, "--tokenizer", folder, "--variant", "transformer-xl", "--norm-position", "post", "--hidden-act", "relu", "--attention",
             attention, "--position-embedding", "none", "--memory", 16, "--context", 16, "--layers", 2, "--width", 32, "--heads", 2, "--steps", 20,
             "--learning-rate", "0.01", *flags, "--out", run)
        weft("convert", run, "--to", "transfo-xl", "--out", directory)
        for segment in (16, 5, 23):  # as long as the memory, shorter, longer
            found = token_nats(directory, text, "--context", segment)
            ordered, returned = Kimiyoung(directory, "turned").text(ids, segment)
            largest = (found - ordered).abs().max().item()
            report(len(found) == len(ordered) and largest <= NATS, f"kimiyoung, {name}, segments of {segment}: largest difference {largest:.1e} nats")
            as_returned = torch.cat([nats for nats, _ in returned])
            sorted_ours = torch.cat([part[places] for part, (_, places) in zip(found.split(segment), returned)])
            report((as_returned - sorted_ours).abs().max() <= NATS, f"kimiyoung, {name}: its losses stand by cluster")
        if flags:
            unturned = Kimiyoung(directory, "as they are").text(ids, segment)[0]
            report((found - unturned).abs().max() > 0.01, f"kimiyoung, {name}: with the clusters as they are in Weft they would differ")


# --- trax's Reformer --------------------------------------------------------------------------------------------------------------------------------


def released_bucket_factors(length, chunk):
    """trax, where n_buckets is not set: not a power of two, and from the length of the call."""
    count = 2 * max(1, length // chunk)
    if count <= 128:
        return [count]
    first = 2 ** math.ceil(math.log2(math.sqrt(count)))
    return [first, 2 * (count // (2 * first))]


class Trax:
    """The model of a run of `weft train`, with trax's layer for the attention. Weft's rotations are given; trax draws its own."""

    def __init__(self, run, factors, rounds, chunk, seed):
        self.weights, self.config = weights_of(run), json.loads((pathlib.Path(run) / "config.json").read_text())
        self.heads, self.width = self.config["num_attention_heads"], self.config["hidden_size"]
        self.factors, self.rounds, self.chunk = factors, rounds, chunk
        torch.manual_seed(seed)
        self.rotations = torch.randn(self.heads, self.width // self.heads, rounds, sum(factors) // 2).double()

    def buckets(self, x, head, padding):
        """[rounds, length]: a round's numbers follow those of the round before; padding has one more bucket."""
        rotated, numbers, unit, first = torch.einsum("td,drb->rtb", x, self.rotations[head]), 0, 1, 0
        for factor in self.factors:
            part = rotated[..., first:first + factor // 2]
            numbers = numbers + unit * torch.cat([part, -part], -1).argmax(-1)
            first, unit = first + factor // 2, unit * factor
        numbers[:, padding] = unit
        return numbers + (unit + int(padding.any())) * torch.arange(self.rounds)[:, None]

    def mixed(self, x, value, numbers, padding):
        """Places of all rounds on one circle; a chunk sees the one before it and itself. Scores are lowered and not replaced."""
        length = len(x)
        order = sorted(range(self.rounds * length), key=lambda t: (numbers[t // length, t % length].item(), t % length))
        keys = x / (x.square().mean(1, keepdim=True) + 1e-6).sqrt() / math.sqrt(x.shape[1])
        outputs, sums = torch.zeros(self.rounds, length, value.shape[1], dtype=torch.float64), torch.zeros(self.rounds, length, dtype=torch.float64)
        chunks = [torch.tensor(order[i:i + self.chunk]) for i in range(0, len(order), self.chunk)]
        for number, chunk in enumerate(chunks):
            query, seen = chunk % length, torch.cat([chunks[number - 1], chunk]) % length
            scores = x[query] @ keys[seen].T
            scores = scores - 1e9 * (seen[None] > query[:, None]).double() - 1e5 * (seen[None] == query[:, None]).double() - 1e9 * padding[seen].double()
            outputs[chunk // length, query], sums[chunk // length, query] = scores.softmax(-1) @ value[seen], scores.logsumexp(-1)
        return (sums.softmax(0)[..., None] * outputs).sum(0)

    def newest(self, x, value, numbers):
        """The last row as trax's fast inference has it: the latest keys that share a bucket in any round, then the latest others, rounds * 2 chunks of them in
        one softmax. The place behind the text takes part in the choice and is hidden then."""
        last = len(x) - 1
        shares = (numbers[:, :last + 1] == numbers[:, last:last + 1]).any(0)
        candidates = sorted(range(last + 2), key=lambda i: (bool(i <= last and shares[i]), i))[-self.rounds * self.chunk * 2:]
        seen = torch.tensor([i for i in candidates if i <= last])
        keys = x / (x.square().mean(1, keepdim=True) + 1e-6).sqrt() / math.sqrt(x.shape[1])
        scores = keys[seen] @ x[last] - 1e5 * (seen == last).double()
        return scores.softmax(0) @ value[seen]

    def attention(self, x, layer, padding):
        name, outputs = f"layers.{layer}.attention.", []
        rows, values = ((x @ self.weights[f"{name}{kind}.weight"].T).unflatten(1, (self.heads, -1)) for kind in ("query_key", "value"))
        for head in range(self.heads):
            numbers = self.buckets(rows[:, head], head, padding)
            outputs.append(self.mixed(rows[:, head], values[:, head], numbers, padding))
        return torch.cat(outputs, 1) @ self.weights[name + "output.weight"].T

    def logits(self, ids):
        real = len(ids)
        padding = torch.arange(real + -real % self.chunk) >= real
        ids = torch.cat([ids, ids.new_zeros(-real % self.chunk)])
        place, eps = torch.arange(len(ids)), self.config["layer_norm_eps"]
        rows, columns = self.weights["embeddings.axial.rows"], self.weights["embeddings.axial.columns"]
        line = columns.shape[1]
        first = self.weights["embeddings.tokens"][ids] + torch.cat([rows[(place // line).clamp(max=len(rows) - 1), 0], columns[0, place % line]], 1)
        second = first
        for layer in range(self.config["num_hidden_layers"]):
            first = first + self.attention(norm(second, self.weights, f"layers.{layer}.attention_norm", eps), layer, padding)
            name = f"layers.{layer}.feed_forward"
            wide = norm(first, self.weights, name + "_norm", eps) @ self.weights[name + ".up.weight"].T + self.weights[name + ".up.bias"]
            second = second + torch.nn.functional.gelu(wide) @ self.weights[name + ".down.weight"].T + self.weights[name + ".down.bias"]
        both = norm(torch.cat([first, second], 1), self.weights, "norm", eps)
        return (both @ self.weights["head.weight"].T + self.weights["head.bias"])[:real]


def check_trax(folder):
    source = random.Random(3)
    run, text = folder / "trax", folder / "letters.txt"
    text.write_text("".join(source.choice("abcdefgh \n") for _ in range(1000)))
    expression = "lsh(causal=position, buckets={}, rounds=3, chunk={}, seed=5)"
    weft("train", "--train-text", text, "--attention", expression.format(10, 8), "--residual", "reversible", "--position-embedding", "axial",
         "--no-tie-word-embeddings", "--no-attention-bias", "--lm-head-bias", "--context", 160, "--layers", 2, "--width", 16, "--heads", 2, "--steps", 3,
         "--initializer-range", "0.3", "--out", run)
    letters = text.read_text()
    for length, chunk in ((40, 8), (160, 8), (100, 4), (160, 2), (37, 8), (3, 2), (8, 8), (5, 8)):
        factors = released_bucket_factors(length, chunk)
        model = Trax(run, factors, 3, chunk, 5)
        part = folder / "part.txt"
        part.write_text(letters[:length + 1])
        ids = torch.tensor(list(letters[:length + 1].encode()))
        expected = -model.logits(ids[:-1]).log_softmax(-1).gather(1, ids[1:, None])[:, 0]
        words = "x".join(map(str, factors))
        found = token_nats(run, part, "--context", length, "--attention", expression.format(words, chunk))
        largest = (found - expected).abs().max().item()
        report(largest <= NATS, f"trax, {length} tokens in chunks of {chunk}, buckets={words} by its rule: largest difference {largest:.1e} nats")
    model = Trax(run, [10], 3, 8, 5)
    prompt, ids = letters[:21], torch.tensor(list(letters[:21].encode()))
    for _ in range(8):
        ids = torch.cat([ids, model.logits(ids)[-1].argmax()[None]])
    found = json.loads(weft("generate", run, "--prompt", prompt, "--temperature", 0, "--max-new-tokens", 8, "--json"))["generated_text"]
    report(found == bytes(ids[21:].tolist()).decode(errors="replace"), "trax: `weft generate` writes what its pass over the whole text says")
    x, value = (torch.randn(160, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) for seed in (1, 2))
    nothing = torch.zeros(160, dtype=torch.bool)
    numbers = model.buckets(x, 0, nothing)
    gap = (model.newest(x, value, numbers) - model.mixed(x, value, numbers, nothing)[-1]).abs().max().item()
    report(gap > 1e-3, f"trax: its fast inference is something else than its pass over the whole text (here by {gap:.2f})")


def main():
    torch.set_num_threads(2)
    with tempfile.TemporaryDirectory() as folder:
        check_kimiyoung(pathlib.Path(folder))
        check_trax(pathlib.Path(folder))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
