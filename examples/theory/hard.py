# SPDX-License-Identifier: Apache-2.0
"""Attention that looks at the best key alone, which proofs about transformers call hard: softmax in float64, at a scale that leaves nothing for others.

exp(x) is 0 in float64 below x = -745. Where the best score of a query is ahead of the next by `gap` or more, a scale of 1,024 / gap therefore gives it
the whole weight, not nearly the whole: results are exact, and pages may say "equal".
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench")]
sys.path += [str(ROOT / "build/release/python"), str(ROOT / "tests/python")]  # the package as `make build` built it, unless it is installed

try:
    import cpu_torch  # noqa: F401, I001: the PyTorch of .venv needs its help
    import torch
except ModuleNotFoundError as error:
    raise SystemExit(f"theory: {sys.executable} has no PyTorch ({error}): run this by .venv/bin/python3, which make setup makes") from None
try:
    import weft_attention
except ModuleNotFoundError as error:
    raise SystemExit(f"theory: {sys.executable} finds no package weft_attention ({error}): run make build, which puts it into build/release/python") from None

AHEAD = 1024.0


def attend(query, key, value, pattern, *, gap, offset=0):
    """For each query the value of the key with the largest product, among the keys that the pattern lets it see; float64.

    query [B, H, Q, D], key [B, H, K, D], value [B, H, K, C]; gap: by how much the best product is ahead of the next, at least. Several best keys share
    the weight. A query without edges gets zeros. Returns [B, H, Q, C].
    """
    return weft_attention.attend(query, key, value, pattern, scale=AHEAD / gap, query_offset=offset)


def edges(pattern, length, heads=1):
    """Pairs of a query and a key that attend, over all heads."""
    return sum(cell > 0 for head in weft_attention.Pattern(pattern).to_dense(length, heads=heads).tolist() for row in head for cell in row)


def whole(numbers):
    """A float64 tensor of whole numbers."""
    return torch.as_tensor(numbers, dtype=torch.float64)
