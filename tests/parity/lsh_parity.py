#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives Reformer's LSH self-attention of transformers over random settings and hash seeds, and lets test_attention compare outputs and
gradients with Weft's `lsh` (tests/attention/joint_lsh_test.cpp)."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/fixtures/make"), str(ROOT / "tests/parity/cases")]

import lsh_layer  # noqa: E402
from layer_cases import compare  # noqa: E402


def random_case(source):
    chunk = source.choice([2, 4, 8])
    chunks = source.randint(1, 40 // chunk)
    length = chunk * chunks if chunks > 1 else source.randint(1, chunk)
    return dict(length=length, chunk=chunk, factors=source.choice([[2], [4], [8], [2, 4], [4, 2]]), rounds=source.randint(1, 4),
                causal=source.random() < 0.5, right=source.randint(0, 1), padded=source.randint(0, length - 1))


if __name__ == "__main__":
    sys.exit(compare("LSHSelfAttention", lsh_layer.make_case, random_case, "JointLsh.*", "WEFT_LSH_CASES"))
