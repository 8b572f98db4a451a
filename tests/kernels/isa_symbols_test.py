# SPDX-License-Identifier: Apache-2.0
"""Object files of one instruction set share no symbol with others.

The linker keeps one copy of an inline function. Were it the one compiled for AVX-512, it would run on every processor.
Every weak symbol of such a file must therefore carry the name of its instruction set.
"""
import os
import pathlib
import subprocess
import unittest

# Data, not code, and the same whatever the flags.
HARMLESS = ("DW.ref.", "typeinfo", "vtable")


def object_files():
    build = pathlib.Path(os.environ["WEFT_BINARY"]).parent.parent
    kernels = build / "src/weft/CMakeFiles/weft_kernels.dir/kernels"
    return sorted([*kernels.glob("attention_*.cpp.o"), *kernels.glob("int8/product_*.cpp.o"), *kernels.glob("training/passes_*.cpp.o")])


def weak_symbols(path):
    """(kind, demangled name) of every symbol that another file may define too."""
    listing = subprocess.run(["nm", "--demangle", "--defined-only", path], check=True, capture_output=True, text=True)
    for line in listing.stdout.splitlines():
        _, kind, name = line.split(maxsplit=2)
        if kind in "WVu" and not name.startswith(HARMLESS):
            yield name


class IsaSymbols(unittest.TestCase):
    def test_weak_symbols_name_their_instruction_set(self):
        files = object_files()
        if not files:
            self.skipTest("no files of an instruction set on this processor family")
        for path in files:
            isa = path.name.removesuffix(".cpp.o").split("_")[1]
            for name in weak_symbols(path):
                self.assertIn(f"kernels::{isa}", name.lower(), f"{path.name} defines {name}")


class Tiles(unittest.TestCase):
    STATE = ("ldtilecfg", "tilerelease", "tileloadd", "tilestored")
    INSTRUCTIONS = {"attention_amx.cpp.o": {*STATE, "tilezero", "tdpbf16ps"}, "product_amx.cpp.o": {*STATE, "tdpbusd"}}

    def test_only_the_files_for_amx_have_tiles(self):
        for path in object_files():
            code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], check=True, capture_output=True, text=True).stdout
            found = {name for name in set().union(*self.INSTRUCTIONS.values()) if f"\t{name}" in code}
            self.assertEqual(found, self.INSTRUCTIONS.get(path.name, set()), path.name)


if __name__ == "__main__":
    unittest.main()
