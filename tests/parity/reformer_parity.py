#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reformers against the installed transformers.

The fixtures of tests/fixtures/reformer are made anew and compared with the stored ones. Then `weft eval` scores texts with directories that transformers
wrote, of the shapes of google/reformer-enwik8 and -crime-and-punishment but narrower and with random weights; ids are bytes + 2. `weft generate` continues
prompts with them: as transformers without a cache (and with the bias of the head), and with --like-transformers as transformers with its cache. Encoders of
the same shapes with heads for classes and for answers are computed by `weft forward`.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional as F
from transformers import ReformerConfig, ReformerForQuestionAnswering, ReformerForSequenceClassification, ReformerModelWithLMHead

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests/fixtures"
sys.path[:0] = [str(FIXTURES / "make"), str(ROOT / "tests/parity")]

import encoder_parity as shared  # noqa: E402
import reformer  # noqa: E402

WEFT = os.environ.get("WEFT_BINARY", ROOT / "build/release/bin/weft")
COMMON = {"vocab_size": 258, "is_decoder": True, "hidden_dropout_prob": 0.0, "local_attention_probs_dropout_prob": 0.0, "hash_seed": 3,
          "pad_token_id": 0}
SHAPES = {
    "enwik8": {"attn_layers": ["local", "local", "lsh", "local"] * 2, "hidden_size": 128, "num_attention_heads": 8, "attention_head_size": 16,
               "feed_forward_size": 512, "local_attn_chunk_length": 128, "lsh_attn_chunk_length": 256, "num_hashes": 4, "num_buckets": 512,
               "axial_pos_shape": [128, 512], "axial_pos_embds_dim": [32, 96], "max_position_embeddings": 65536},
    "crime and punishment": {"attn_layers": ["local", "lsh"] * 3, "hidden_size": 64, "num_attention_heads": 2, "attention_head_size": 16,
                             "feed_forward_size": 128, "local_attn_chunk_length": 64, "lsh_attn_chunk_length": 64, "num_hashes": 1,
                             "num_buckets": [64, 128], "axial_pos_shape": [512, 1024], "axial_pos_embds_dim": [16, 48],
                             "max_position_embeddings": 524288},
}
# Weft in float32, through eight layers; a row that lies between two buckets to the last bit would differ more, and these texts have none.
NATS = 1e-4
NEW_TOKENS = 12
CLEAR = 1e-3  # the best score is so far above the second one that rounding does not choose
PROMPTS = {"enwik8": (1, 90, 130, 250, 300, 512, 700), "crime and punishment": (1, 40, 60, 64, 65, 128, 300)}


def check_fixtures():
    with tempfile.TemporaryDirectory() as folder:
        reformer.make(folder)
        for name in (*reformer.CASES, *reformer.TASKS):
            for file in ("expected", "exact", "cached"):
                path = f"{name}/{file}.safetensors"
                if file == "cached" and name != "mixed":
                    continue
                made, stored = load_file(f"{folder}/{path}"), load_file(FIXTURES / "reformer" / path)
                assert made.keys() == stored.keys(), path
                largest = max((made[key].double() - stored[key].double()).abs().max().item() for key in made)
                shared.report(largest <= 1e-5, f"fixture {path}: largest difference {largest:.1e}")


def expected_nats(model, text, bias=True):
    ids = torch.tensor([[byte + 2 for byte in text]])
    with torch.no_grad(), reformer.float32_rotations():
        logits = model(ids[:, :-1], use_cache=False).logits
        logits = logits + model.lm_head.bias if bias else logits  # transformers 5 does not add it
    return F.cross_entropy(logits[0], ids[0, 1:], reduction="none")


def check_shape(folder, name, fields):
    torch.manual_seed(5)
    model = ReformerModelWithLMHead(ReformerConfig(**COMMON, **fields)).eval()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            parameter.add_(torch.randn(parameter.shape).mul(0.2 if parameter.dim() == 1 else 0.1))
    directory = pathlib.Path(folder) / name.replace(" ", "-")
    model.save_pretrained(directory)
    model.double()  # in float32 transformers loses digits in rows that see themselves alone
    source = random.Random(10)
    for length in (1, 50, 300, 1000, 4096):
        text = bytes(source.choice(b"abcdefgh ,.\n") for _ in range(length + 1))
        path, scores = directory / "text.txt", directory / "scores.jsonl"
        path.write_bytes(text)
        for flags in ((), ("--like-transformers",)):
            subprocess.run([WEFT, "eval", directory, "--text", path, "--context", str(length), "--dtype", "float32", "--token-scores", scores, "--json",
                            *flags], check=True, stdout=subprocess.PIPE)
            found = torch.tensor([json.loads(line)["bits"] for line in scores.read_text().splitlines()]) * torch.log(torch.tensor(2.0))
            largest = (found.double() - expected_nats(model, text, not flags)).abs().max().item()
            shared.report(len(found) == length and largest <= NATS, f"{name}, {length} tokens {flags}: largest difference {largest:.1e} nats")


def greedy(model, prompt, cached):
    """The likeliest ids; with the cache of transformers and no bias, or by the whole text and with the bias. None where rounding could choose."""
    ids, past = prompt, None
    for _ in range(NEW_TOKENS):
        with torch.no_grad(), reformer.float32_rotations():
            if cached:
                output = model(ids if past is None else ids[:, -1:], use_cache=True, past_buckets_states=past)
                past, scores = output.past_buckets_states, output.logits[0, -1]
            else:
                scores = model(ids, use_cache=False).logits[0, -1] + model.lm_head.bias
        scores[2] = -torch.inf  # the end of a text
        best = scores.topk(2)
        if best.values[0] - best.values[1] < CLEAR:
            return None
        ids = torch.cat([ids, best.indices[:1, None]], 1)
    return ids


def check_generation(folder, name):
    directory = pathlib.Path(folder) / name.replace(" ", "-")
    model = ReformerModelWithLMHead.from_pretrained(directory, dtype=torch.float64).eval()
    for length in PROMPTS[name]:
        for flags in ((), ("--like-transformers",)):
            found = expected = None
            for seed in range(20):
                prompt = torch.randint(3, 258, (1, length), generator=torch.Generator().manual_seed(seed))
                expected = greedy(model, prompt, bool(flags))
                if expected is not None:
                    break
            save_file({"input_ids": prompt}, directory / "prompt.safetensors")
            subprocess.run([WEFT, "generate", directory, "--input", directory / "prompt.safetensors", "--output", directory / "texts.safetensors",
                            "--temperature", "0", "--max-new-tokens", str(NEW_TOKENS), "--suppress-tokens", "2", *flags],
                           check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            found = load_file(directory / "texts.safetensors")["sequences"]
            shared.report(expected is not None and found.tolist() == expected.tolist(), f"{name}, {NEW_TOKENS} tokens behind {length} {flags}")
            if flags:
                with torch.no_grad(), reformer.float32_rotations():
                    theirs = model.generate(prompt, max_new_tokens=NEW_TOKENS, do_sample=False, suppress_tokens=[2], use_cache=True)
                shared.report(theirs.tolist() == expected.tolist(), f"{name}, {length}: that is what generate() of transformers writes")


def check_task(folder, name, kind):
    torch.manual_seed(6)
    model = kind(ReformerConfig(**{**COMMON, **SHAPES[name], "is_decoder": False}, num_labels=2)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape).mul(0.2 if parameter.dim() == 1 else 0.1))
    directory = pathlib.Path(folder) / f"{kind.__name__}-{name.replace(' ', '-')}"
    model.save_pretrained(directory)
    model.double()
    for length in (1, 64, 300, 1000, 2048):
        ids = torch.randint(2, model.config.vocab_size, (1, length))
        save_file({"input_ids": ids}, directory / "in.safetensors")
        subprocess.run([WEFT, "forward", directory, "--input", directory / "in.safetensors", "--output", directory / "out.safetensors", "--dtype", "float32"],
                       check=True, stdout=subprocess.PIPE)
        with torch.no_grad(), reformer.float32_rotations():
            expected = reformer.outputs_of(model(ids))
        found = load_file(directory / "out.safetensors")
        largest = max((found[key].double() - value).abs().max().item() for key, value in expected.items())
        shared.report(largest <= NATS, f"{kind.__name__}, {name}, {length} tokens: largest difference {largest:.1e}")


def main():
    torch.set_num_threads(2)
    check_fixtures()
    with tempfile.TemporaryDirectory() as folder:
        for name, fields in SHAPES.items():
            check_shape(folder, name, fields)
            check_generation(folder, name)
            for kind in (ReformerForSequenceClassification, ReformerForQuestionAnswering):
                check_task(folder, name, kind)
    return 1 if shared.report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
