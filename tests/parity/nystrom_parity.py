#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives Nystromformer's self-attention of transformers over random settings, with landmarks and as released configs mean it (softmax and
the convolution), and lets test_attention compare outputs and gradients with Weft's `nystrom` (tests/attention/nystrom_attention_test.cpp)."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/fixtures/make"), str(ROOT / "tests/parity/cases")]

import nystrom_layer  # noqa: E402
from layer_cases import compare  # noqa: E402


def random_case(source):
    dense = source.random() < 0.5
    landmarks = source.randint(2, 8)
    length = source.randint(1, 60) if dense else landmarks * source.randint(2, 9)
    return dict(length=length, landmarks=landmarks, kernel=source.choice([1, 3, 9, 65]), dense=dense)


if __name__ == "__main__":
    sys.exit(compare("NystromformerSelfAttention", nystrom_layer.make_case, random_case, "JointNystrom.*", "WEFT_NYSTROM_CASES"))
