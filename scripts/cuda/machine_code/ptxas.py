# SPDX-License-Identifier: Apache-2.0
"""The log of ptxas -v: registers, shared memory and spills of each kernel, and its warnings."""
import dataclasses
import re

BEGIN = re.compile(r"ptxas info\s*: Compiling entry function '(\S+)' for '(sm_\w+)'")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"ptxas info\s*: Used (\d+) registers(.*)")
SHARED = re.compile(r"(\d+) bytes smem")
# wgmma that the compiler runs one after the other, and other losses of that family.
SERIAL = re.compile(r"\(?C75(1[0-5])\)?")


@dataclasses.dataclass
class Compiled:
    """A kernel on an architecture; None: the log does not say."""

    name: str
    architecture: str
    registers: int | None = None
    stack: int | None = None
    spilled: int | None = None  # bytes, stores and loads
    shared: int = 0  # bytes that are no parameter of the launch


def read(log):
    """(kernels in their order, lines with warnings). A kernel's lines follow the one that names it; those of several processes may not be mixed."""
    kernels, warnings = [], []
    for line in log.splitlines():
        if begin := BEGIN.search(line):
            kernels.append(Compiled(begin[1], begin[2]))
        elif kernels and (spills := SPILLS.search(line)) and kernels[-1].stack is None:
            kernels[-1].stack = int(spills[1])
            kernels[-1].spilled = int(spills[2]) + int(spills[3])
        elif kernels and (used := USED.search(line)) and kernels[-1].registers is None:
            kernels[-1].registers = int(used[1])
            shared = SHARED.search(used[2])
            kernels[-1].shared = int(shared[1]) if shared else 0
        if SERIAL.search(line):
            warnings.append(line.strip())
    return kernels, warnings
