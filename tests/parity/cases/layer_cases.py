# SPDX-License-Identifier: Apache-2.0
"""A layer of transformers over random settings: cases in a folder, which test_attention reads and compares with Weft's."""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = pathlib.Path(os.environ.get("WEFT_BINARY", ROOT / "build/release/bin/weft")).parent / "test_attention"
CASES = 60


def compare(what, make_case, random_case, tests, variable):
    """make_case(folder, name, seed, **random_case(source)) for each case; `tests` of test_attention find the folder in `variable`. The seed is the
    first argument of the script, else a new one. Returns the exit code."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(10**6)
    source = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(CASES):
            make_case(folder, f"case_{number}", source.randrange(10**6), **random_case(source))
        result = subprocess.run([PROGRAM, f"--gtest_filter={tests}"], env=os.environ | {variable: folder}, capture_output=True, text=True)
    if result.returncode != 0:
        print(result.stdout[-4000:], file=sys.stderr)
    print(f"{'ok' if result.returncode == 0 else 'DIFFERS':8} {CASES} settings of {what}, seed {seed}")
    return 0 if result.returncode == 0 else 1
