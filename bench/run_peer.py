# SPDX-License-Identifier: Apache-2.0
"""Runs a PyTorch script as it is, or with autocast switched off: run_peer.py [--float32] SCRIPT [ARGUMENT ...].

On a processor without bfloat16 units, LibTorch's bfloat16 products are far slower than its float32 ones, and a script that asks for
them measures that. With --float32 the same script computes in float32.

A script that trains for some minutes looks at the clock before each step and ends with the step that runs over. Last of all comes a
line {"clock_seconds": S}: the time between its first and its last look, which is what it really trained for.
"""
import contextlib
import json
import runpy
import sys
import time

import torch

looks = []
system_clock = time.time


def clock():
    now = system_clock()
    if sys._getframe(1).f_globals.get("__name__") == "__main__":
        looks.append(now)
    return now


if sys.argv[1] == "--float32":
    del sys.argv[1]
    torch.autocast = lambda *arguments, **named: contextlib.nullcontext()
del sys.argv[0]
time.time = clock
runpy.run_path(sys.argv[0], run_name="__main__")
print(json.dumps({"clock_seconds": looks[-1] - looks[0] if looks else 0.0}))
