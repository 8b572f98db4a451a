#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives Reformer's LSH self-attention of transformers over random settings and hash seeds, and lets test_attention compare outputs and
gradients with Weft's `lsh` (tests/attention/joint_lsh_test.cpp)."""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/fixtures/make"))

import lsh_layer  # noqa: E402

PROGRAM = pathlib.Path(os.environ.get("WEFT_BINARY", ROOT / "build/release/bin/weft")).parent / "test_attention"
CASES = 60


def random_case(source):
    chunk = source.choice([2, 4, 8])
    chunks = source.randint(1, 40 // chunk)
    length = chunk * chunks if chunks > 1 else source.randint(1, chunk)
    return dict(length=length, chunk=chunk, factors=source.choice([[2], [4], [8], [2, 4], [4, 2]]), rounds=source.randint(1, 4),
                causal=source.random() < 0.5, right=source.randint(0, 1), padded=source.randint(0, length - 1))


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(10**6)
    source = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(CASES):
            lsh_layer.make_case(folder, f"case_{number}", source.randrange(10**6), **random_case(source))
        result = subprocess.run([PROGRAM, "--gtest_filter=JointLsh.*"], env=os.environ | {"WEFT_LSH_CASES": folder},
                                capture_output=True, text=True)
    if result.returncode != 0:
        print(result.stdout[-4000:], file=sys.stderr)
    print(f"{'ok' if result.returncode == 0 else 'DIFFERS':8} {CASES} settings of LSHSelfAttention, seed {seed}")
    return 0 if result.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
