# SPDX-License-Identifier: Apache-2.0
"""Runs a PyTorch script as it is, or with autocast switched off: run_peer.py [--float32] SCRIPT [ARGUMENT ...].

On a processor without bfloat16 units, LibTorch's bfloat16 products are far slower than its float32 ones, and a script that asks for
them measures that. With --float32 the same script computes in float32.
"""
import contextlib
import runpy
import sys

import torch

if sys.argv[1] == "--float32":
    del sys.argv[1]
    torch.autocast = lambda *arguments, **named: contextlib.nullcontext()
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
