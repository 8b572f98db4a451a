# SPDX-License-Identifier: Apache-2.0
"""Cases that passed in this build tree: where neither their program nor the fixtures nor the variables that programs look at have changed, they
need not run again. A program holds all of Weft that its cases test, and is compiled anew where a library's headers change. A fuzzer is a
program with one case; what scripts look at nobody knows."""
import hashlib
import json
import os
import pathlib

from .cases import Case, Program
from .results import PASSED

# Variables that change what a program does begin so.
PREFIXES = ("WEFT_", "ATEN_", "ONEDNN_", "DNNL_", "OMP_", "MKL_", "LD_", "ASAN_", "UBSAN_", "TSAN_", "LSAN_", "LANG", "LC_", "GTEST_")


def digest_of_files(folders):
    """Of the names, sizes and times of change of all files below."""
    found = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            state = path.lstat()
            found.update(f"{path}\0{state.st_size}\0{state.st_mtime_ns}\n".encode())
    return found.hexdigest()


class Passed:
    """A file of the tree: what passed of each program, for each set of variables. `fixtures` are folders that programs read."""

    def __init__(self, tree, fixtures):
        self.tree, self.path = tree, tree / "passed.json"
        self.fixtures = digest_of_files(fixtures)
        self.known = json.loads(self.path.read_text()) if self.path.is_file() else {}
        self.digests = {}

    def of_entries(self, entries):
        """Those that are programs of the tree, each as a program with one case."""
        return [(Program(entry.command[0], entry.room, entry.environment, entry.folder), [Case(entry.name, entry.name, False)])
                for entry in entries if pathlib.Path(entry.command[0]).is_relative_to(self.tree)]

    def key(self, program):
        variables = sorted(f"{name}={value}" for name, value in program.environment.items() if name.startswith(PREFIXES))
        return f"{os.path.basename(program.path)} {hashlib.sha256(chr(0).join(variables).encode()).hexdigest()[:16]}"

    def digest(self, program):
        """Of the program as it was when it was first asked for: one that is built anew while it runs has not passed."""
        if program.path not in self.digests:
            try:
                with open(program.path, "rb") as file:
                    self.digests[program.path] = hashlib.file_digest(file, "sha256").hexdigest() + self.fixtures
            except FileNotFoundError:  # its run says so
                self.digests[program.path] = ""
        return self.digests[program.path]

    def left(self, programs):
        """The programs with the cases that have to run, and how many need not."""
        found, spared = [], 0
        for program, listing in programs:
            entry = self.known.get(self.key(program), {})
            before = set(entry.get("cases", ())) if entry.get("digest") == self.digest(program) else set()
            rest = [case for case in listing if case.name not in before]
            spared += len(listing) - len(rest)
            if rest:
                found.append((program, rest))
        return found, spared

    def save(self, programs, results):
        """Notes the results of the programs that ran."""
        outcomes = {result.name: result.outcome for result in results}
        for program, listing in programs:
            key, digest = self.key(program), self.digest(program)
            entry = self.known.get(key, {})
            cases = set(entry.get("cases", ())) if entry.get("digest") == digest else set()
            names = {case.name for case in listing}
            cases = (cases - names) | {name for name in names if outcomes.get(name) == PASSED}
            self.known[key] = {"digest": digest, "cases": sorted(cases)}
        written = self.path.with_suffix(".new")
        written.write_text(json.dumps(self.known))
        written.replace(self.path)  # whoever stops this run finds a whole file
