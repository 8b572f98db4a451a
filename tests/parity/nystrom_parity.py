#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives Nystromformer's self-attention of transformers over random settings, with landmarks and as released configs mean it (softmax and
the convolution), and lets test_attention compare outputs and gradients with Weft's `nystrom` (tests/attention/nystrom_attention_test.cpp)."""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/fixtures/make"))

import nystrom_layer  # noqa: E402

PROGRAM = pathlib.Path(os.environ.get("WEFT_BINARY", ROOT / "build/release/bin/weft")).parent / "test_attention"
CASES = 60


def random_case(source):
    dense = source.random() < 0.5
    landmarks = source.randint(2, 8)
    length = source.randint(1, 60) if dense else landmarks * source.randint(2, 9)
    return dict(length=length, landmarks=landmarks, kernel=source.choice([1, 3, 9, 65]), dense=dense)


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(10**6)
    source = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(CASES):
            nystrom_layer.make_case(folder, f"case_{number}", source.randrange(10**6), **random_case(source))
        result = subprocess.run([PROGRAM, "--gtest_filter=JointNystrom.*"], env=os.environ | {"WEFT_NYSTROM_CASES": folder},
                                capture_output=True, text=True)
    if result.returncode != 0:
        print(result.stdout[-4000:], file=sys.stderr)
    print(f"{'ok' if result.returncode == 0 else 'DIFFERS':8} {CASES} settings of NystromformerSelfAttention, seed {seed}")
    return 0 if result.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
