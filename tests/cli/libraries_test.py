# SPDX-License-Identifier: Apache-2.0
"""The libraries that the program loads: LibTorch only for commands that compute with tensors; none takes another's symbols; and a failed
allocation is an error like others.

A name that two libraries export is one thing at run time: the first library that is loaded wins. If both mean different things, one of
them writes into memory that is not its own.
"""
import os
import pathlib
import re
import resource
import subprocess
import unittest

from weft_program import BINARY, Case, environment, weft

# One library under several names.
GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libutil.so.1"}
# Compiled from each other's headers, so that inline functions of one are in the others too.
OURS = {"weft", "libweft_core.so.0", "libweft.so.0", "libtorch_cpu.so", "libtorch_cuda.so", "libc10.so", "libc10_cuda.so"}
# The linker's own, which nobody refers to across libraries.
LINKER = {"__bss_start", "_edata", "_end", "_init", "_fini"}
STANDARD = re.compile(r"_Z(T[VISTCW]|GV|GR|Z)*(N[KVRO]*)?(St|S[absiod]|9__gnu_cxx|11__gnu_debug|10__cxxabiv1)")
DATA, STRONG = set("BDRGSVu"), set("TBDRGSi")


def needed(library):
    """What a program or library has loaded with it."""
    lines = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split("=>")[1].split("(")[0].strip() for line in lines if "=> /" in line]


def libraries():
    """The program, what it loads at its start, and what it opens to compute, in the order in which names are looked up."""
    tensors = str(pathlib.Path(BINARY).resolve().parent.parent / "lib/libweft.so.0")
    return list(dict.fromkeys([BINARY, *needed(BINARY), tensors, *needed(tensors)]))


def definitions(library):
    """(name, kind, size) of what it exports."""
    for line in subprocess.run(["nm", "-D", "-S", "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines():
        address, *size, kind, name = line.split()
        yield name.split("@")[0], kind, int(size[0], 16) if size else 0


def shared_names():
    """Names that several libraries export, each with (library, kind, size)."""
    found = {}
    for library in libraries():
        short = pathlib.Path(library).name
        for name, kind, size in definitions(library):
            found.setdefault(name, []).append(("glibc" if short in GLIBC else short, kind, size))
    return {name: places for name, places in found.items() if len({place[0] for place in places}) > 1 and name not in LINKER}


def is_known(name, owners):
    """Names that mean the same in all their libraries."""
    # LibTorch's wheel has parts of the C++ library inside, under that library's own promise that versions mix.
    if STANDARD.match(name):
        return True
    # libbsd's functions that glibc has by now, and those that it hands on to libmd.
    return "libbsd.so.0" in owners and owners <= {"glibc", "libbsd.so.0", "libmd.so.0"}


class Libraries(Case):
    @classmethod
    def setUpClass(cls):
        cls.shared = shared_names()

    def test_the_walk_finds_what_is_shared(self):
        self.assertGreater(len(libraries()), 5)
        self.assertTrue(self.shared, "LibTorch's inline functions at least are in two libraries")

    def test_no_object_has_two_sizes(self):
        for name, places in self.shared.items():
            self.assertLessEqual(len({size for _, kind, size in places if kind in DATA}), 1, f"{name}: {places}")

    def test_no_name_has_two_meanings(self):
        for name, places in self.shared.items():
            owners = {library for library, _, _ in places}
            strong = {library for library, kind, _ in places if kind in STRONG}
            # C++ makes inline functions weak symbols, wherever they are used; what is weak elsewhere is a substitute for another's.
            ordinary = len(strong) <= 1 and name.startswith("_Z") and owners <= OURS
            self.assertTrue(ordinary or is_known(name, owners), f"{name}: {places}")


class Allocation(Case):
    def test_a_tensor_that_does_not_fit_is_one_line(self):
        def bounded():
            resource.setrlimit(resource.RLIMIT_AS, (32 << 30, 32 << 30))

        done = weft("bench", "attention", "--batch", 100_000_000, "--length", 64, "--pattern", "full", preexec_fn=bounded)
        self.assert_fails(done, 1, "not enough memory", "19660800000000 bytes", "hint: ", "a smaller batch")
        self.assertNotIn("enforce fail", done.stderr)


def loaded(*arguments):
    """The finished process, and the names of the shared objects that it opened, as glibc's loader tells them."""
    done = weft(*arguments, env=environment(LD_DEBUG="files"))
    return done, {os.path.basename(path) for path in re.findall(r"file=(\S+) \[0\];  generating link map", done.stderr)}


class StartupTest(Case):
    def test_what_needs_no_tensors_loads_no_libtorch(self):
        self.train_text.write_text("a text\nof two lines\n")
        for arguments in (
            ["--help"],
            ["--version"],
            ["pattern", "--help"],
            ["pattern", "show", "causal & window(8)", "--length", "64"],
            ["pattern", "show", "full", "--length", "64", "--png", self.folder / "full.png"],
            ["pattern", "stats", "strided(8)", "--length", "64"],
            ["pattern", "cost", "window(8)", "--length", "64"],
            ["pattern", "compare", "full", "window(8)", "--length", "64"],
            ["data", "check", self.train_text],
            ["tokenizer", "train", "--help"],
        ):
            done, objects = loaded(*arguments)
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            self.assertTrue(any(name.startswith("libweft_core.so") for name in objects), objects)
            self.assertEqual([name for name in objects if "torch" in name or "c10" in name], [], arguments)

    def test_what_computes_loads_it(self):
        done, objects = loaded("version")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(any(name.startswith("libtorch_cpu.so") for name in objects), objects)

    def test_misuse_of_a_command_without_tensors_needs_none(self):
        for arguments in (["patern"], ["pattern", "shw"], ["pattern", "show", "window("], []):
            done, objects = loaded(*arguments)
            self.assertIn(done.returncode, (1, 2))
            self.assertEqual([name for name in objects if "torch" in name], [], arguments)

    def test_every_command_is_listed_as_it_describes_itself(self):
        text = weft("--help").stdout
        listed = re.findall(r"^  ([a-z-]+) {2,}(.+(?:\n {34}.+)*)", text[text.index("Commands:"):], re.MULTILINE)
        self.assertGreater(len(listed), 20)
        for name, about in listed:
            done = weft(name, "--help")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(" ".join(done.stdout.splitlines()[0].split()), " ".join(about.split()), name)
            # Two screens, and the usual flags first.
            self.assertLess(len(done.stdout.splitlines()), 80, name)


if __name__ == "__main__":
    unittest.main()
