#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of transformers with Weft beside the same with sdpa, and a short call of attend beside scaled_dot_product_attention.

    .venv-parity/bin/python3 bench/python/models.py [--cases modernbert decoder full call] [--length 8192] [--threads 2] [--layers N] [--processor]

Weights are random. Each case first compares numbers, and stops where they differ; then both compute in turns, and the fastest run of each
is printed as a line of JSON with `ratio`, sdpa's time over Weft's. The package is that of build/release/python, or of --package.
"""
import argparse
import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_DIFFERENCE = 1e-4


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--length", type=int, default=8192)
    parser.add_argument("--layers", type=int, help="in place of the model's own number")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=2, help="timed runs of each, in turns")
    parser.add_argument("--processor", action="store_true", help="time of the processor, for a machine that does other work; with --threads 1")
    parser.add_argument("--package", type=pathlib.Path, default=ROOT / "build/release/python")
    return parser.parse_args()


def modernbert(transformers, chosen):
    config = transformers.ModernBertConfig(max_position_embeddings=max(8192, chosen.length), num_hidden_layers=chosen.layers or 22)
    return transformers.ModernBertModel(config)


def decoder(transformers, chosen):
    """Of the size of a small model, with a window of 512 in each layer."""
    config = transformers.MistralConfig(vocab_size=32000, hidden_size=768, intermediate_size=2048, num_hidden_layers=chosen.layers or 6,
                                        num_attention_heads=12, num_key_value_heads=4, sliding_window=512,
                                        max_position_embeddings=max(8192, chosen.length), use_cache=False)  # fmt: skip
    return transformers.MistralModel(config)


def full(transformers, chosen):
    """RoBERTa-base, which looks at every pair."""
    config = transformers.RobertaConfig(max_position_embeddings=chosen.length + 2, num_hidden_layers=chosen.layers or 2)
    return transformers.RobertaModel(config)


def in_turns(model, call, chosen):
    """The fastest run of each implementation."""
    clock = time.process_time if chosen.processor else time.perf_counter
    found = {"sdpa": [], "weft": []}
    for _ in range(chosen.runs):
        for name, times in found.items():
            model.set_attn_implementation(name)
            begin = clock()
            call()
            times.append(clock() - begin)
    return {name: min(times) for name, times in found.items()}


def measure_model(torch, transformers, make, chosen):
    torch.manual_seed(0)
    model = make(transformers, chosen)
    model.eval()
    ids = torch.randint(5, 5000, (1, chosen.length), generator=torch.Generator().manual_seed(1))

    def forward():
        with torch.no_grad():
            return model(ids)[0]

    def both_ways():
        model.zero_grad()
        model(ids)[0].square().mean().backward()

    outputs = []
    for name in ("sdpa", "weft"):  # warms up both, too
        model.set_attn_implementation(name)
        outputs.append(forward())
    difference = (outputs[0] - outputs[1]).abs().max().item()
    if not difference <= MOST_DIFFERENCE:
        sys.exit(f"{make.__name__}: outputs differ by {difference}, expected at most {MOST_DIFFERENCE}")
    for what, call in (("forward", forward), ("forward and backward", both_ways)):
        found = in_turns(model, call, chosen)
        yield {"case": make.__name__, "what": what, "length": chosen.length, "layers": model.config.num_hidden_layers, "difference": difference,
               "sdpa_s": round(found["sdpa"], 3), "weft_s": round(found["weft"], 3), "ratio": round(found["sdpa"] / found["weft"], 2)}  # fmt: skip


def measure_call(torch, weft):
    """A call at 64 tokens, 4 heads of 16: microseconds of processor, the least of blocks of 200 calls in turns, so that what else the machine does
    is left out."""
    for gradients in (False, True):
        parts = [torch.randn(1, 4, 64, 16).requires_grad_(gradients) for _ in range(3)]
        calls = {"sdpa": lambda: torch.nn.functional.scaled_dot_product_attention(*parts), "weft": lambda: weft.attend(*parts, "full")}  # noqa: B023
        difference = (calls["sdpa"]() - calls["weft"]()).abs().max().item()
        if not difference <= MOST_DIFFERENCE:
            sys.exit(f"call: outputs differ by {difference}")
        found = {name: [] for name in calls}
        for _ in range(40):
            for name, call in calls.items():
                begin = time.thread_time()
                for _ in range(200):
                    call()
                found[name].append((time.thread_time() - begin) / 200)
        least = {name: min(times) * 1e6 for name, times in found.items()}
        yield {"case": "call", "what": "with a graph" if gradients else "without gradients", "length": 64, "sdpa_us": round(least["sdpa"], 1),
               "weft_us": round(least["weft"], 1), "weft_over_sdpa": round(least["weft"] / least["sdpa"], 2)}  # fmt: skip


CASES = {"modernbert": modernbert, "decoder": decoder, "full": full, "call": None}


def main():
    chosen = options()
    sys.path.insert(0, str(chosen.package))
    import torch
    import transformers

    import weft_attention as weft
    from weft_attention.transformers import register

    register()
    torch.set_num_threads(chosen.threads)
    for name in chosen.cases:
        lines = measure_call(torch, weft) if name == "call" else measure_model(torch, transformers, CASES[name], chosen)
        for line in lines:
            print(json.dumps({**line, "threads": chosen.threads}), flush=True)


if __name__ == "__main__":
    main()
