#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives performer-pytorch, linformer and, where WEFT_PEER_SOURCES names their checkouts, idiap's fast-transformers and Noahs-ARK's RFA over random
settings, and lets test_attention compare outputs and gradients with Weft's (tests/attention/joint_peers_test.cpp). Says which peers were not there."""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/fixtures/make"))

import peer_mechanisms as peers  # noqa: E402

PROGRAM = pathlib.Path(os.environ.get("WEFT_BINARY", ROOT / "build/release/bin/weft")).parent / "test_attention"
CASES = 12  # of each peer


def random_case(function, source):
    length = source.randint(1, 60)
    padded = source.randint(0, length - 1)
    if function is peers.performer_lucidrains:
        causal = source.random() < 0.5
        return dict(length=length, causal=causal, features=source.randint(1, 12), padded=0 if causal else padded)
    if function is peers.performer_idiap:
        return dict(length=length, features=2 * source.randint(1, 6), padded=padded)
    if function is peers.linear_idiap:
        causal = source.random() < 0.5
        return dict(length=length, causal=causal, padded=0 if causal else padded)
    if function is peers.linformer_lucidrains:
        return dict(length=length, rank=source.randint(1, 6), more=source.randint(0, 5))
    way = source.choice(["cross", "decoder", "masked"])
    return dict(length=length, features=2 * source.randint(1, 150), way=way, padded=padded if way == "cross" else 0)


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(10**6)
    source = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        made = []
        for function, peer in peers.PEERS.items():
            if not peers.has(peer):
                print(f"{'skipped':8} {function.__name__}: {peer} is not here")
                continue
            made += [function(folder, f"{function.__name__}_{number}", source.randrange(10**6), **random_case(function, source)) for number in range(CASES)]
        result = subprocess.run([PROGRAM, "--gtest_filter=JointPeers.*"], env=os.environ | {"WEFT_PEER_CASES": folder}, capture_output=True, text=True)
    if result.returncode != 0:
        print(result.stdout[-4000:], file=sys.stderr)
    print(f"{'ok' if result.returncode == 0 else 'DIFFERS':8} {len(made)} settings of other programs' mechanisms, seed {seed}")
    return 0 if result.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
