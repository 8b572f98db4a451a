# SPDX-License-Identifier: Apache-2.0
"""The disassembly that `cuobjdump -sass` prints: how many instructions of which kind each kernel has."""
import collections
import re

ARCHITECTURE = re.compile(r"^\s*(?:arch = |code for )(sm_\w+)")
FUNCTION = re.compile(r"^\s*Function : (\S+)")
INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)")
# What a person asks about, by the first part of the instruction's name.
KINDS = {
    "HMMA": ("HMMA",),
    "HGMMA": ("HGMMA",),
    "FFMA": ("FFMA",),
    "MUFU": ("MUFU",),
    "LDSM": ("LDSM",),
    "LDS": ("LDS",),
    "LDGSTS": ("LDGSTS",),
    "local": ("STL", "LDL"),
    "trap": ("BPT",),
    "wait": ("ACQBULK",),
}
# What reaches the memory of the device.
MEMORY = {"LDG", "LDGSTS", "STG", "LD", "ST", "ATOM", "ATOMG", "RED", "REDG", "UBLKCP", "UTMALDG"}


def read(text):
    """{(kernel, architecture): Counter of instructions, of `all`, and of `early`, which reach the memory before the kernel waits for the one before it}."""
    found, counts, architecture = {}, None, None
    for line in text.splitlines():
        if of := ARCHITECTURE.match(line):
            architecture, counts = of[1], None
        elif name := FUNCTION.match(line):
            counts = found.setdefault((name[1], architecture), collections.Counter())
        elif counts is not None and (instruction := INSTRUCTION.match(line)):
            counts[instruction[1]] += 1
            counts["all"] += 1
            counts["early"] += instruction[1] in MEMORY and not of_kind(counts, "wait")
    return found


def of_kind(counts, kind):
    return sum(counts[name] for name in KINDS[kind])
