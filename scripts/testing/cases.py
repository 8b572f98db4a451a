# SPDX-License-Identifier: Apache-2.0
"""Cases of a GoogleTest program, many to a process, each with its result, its time and its output.

What the program prints says which case it is in. A case that crashes, hangs or ends the process fails by its name, and another process goes on
with those behind it.
"""
import dataclasses
import os
import re
import tempfile
import time

from . import process
from .results import FAILED, PASSED, SKIPPED, TIMEOUT, Result

BEGIN = re.compile(r"\[ RUN      \] (\S+)$")
END = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] (\S+?)(?:, where .*)? \((\d+) ms\)$")
OUTCOMES = {"OK": PASSED, "FAILED": FAILED, "SKIPPED": SKIPPED}
LISTING_SECONDS = 60


class Unlisted(Exception):
    """A program that does not tell its cases, in one line."""


@dataclasses.dataclass(frozen=True)
class Case:
    filter: str  # as GoogleTest names it: Suite.Name, Group/Suite.Name/3
    name: str  # for people: with the room, and with the parameter in place of its number
    disabled: bool


@dataclasses.dataclass(frozen=True)
class Program:
    path: str
    room: str
    environment: dict  # the whole
    folder: str


def listed(text, room):
    """The cases in what `--gtest_list_tests` prints."""
    found, suite, pretty_suite = [], "", ""
    for line in text.splitlines():
        name, _, comment = (part.strip() for part in line.partition("#"))
        value = re.match(r"(?:TypeParam|GetParam\(\)) = (.*)$", comment)
        pretty = re.sub(r"/\d+(\.?)$", lambda match: f"/{value[1]}{match[1]}", name) if value else name
        if re.match(r"\S+\.(\s|$)", line):
            suite, pretty_suite = name, pretty
        elif line.startswith("  ") and suite:
            found.append(Case(suite + name, f"{room}.{pretty_suite}{pretty}", "DISABLED_" in suite + name))
    return found


def cases_of(program):
    """Every case of a program. Raises Unlisted."""
    moment, output = time.monotonic() + LISTING_SECONDS, process.Output()
    lines = []
    try:
        with process.Process([program.path, "--gtest_list_tests"], program.environment, program.folder) as running:
            while (line := running.next_line(moment)) is not None:
                output.add(line)
                lines.append(line)
            status = running.end(moment)
    except process.Late:
        raise Unlisted(f"{program.path} --gtest_list_tests took more than {LISTING_SECONDS} s") from None
    except OSError as error:
        raise Unlisted(f"{program.path} cannot be started: {error.strerror}; build it first") from None
    if status != 0:
        raise Unlisted(f"{program.path} --gtest_list_tests: {process.how_it_ended(status)}\n{output.text()}")
    found = listed("\n".join(lines), program.room)
    if not found:
        raise Unlisted(f"{program.path} --gtest_list_tests names no case")
    return found


class _Run:
    """One process, and what it has said so far."""

    def __init__(self, program, cases, limit, report):
        self.program, self.limit, self.report = program, limit, report
        self.names = {case.filter: case.name for case in cases}
        self.left = dict(self.names)  # not begun
        self.current = self.last = None  # the case that it is in, and the one before
        self.some_failed = False
        self.turn()

    def turn(self):
        """A case begins or has ended: the watch and the output begin again."""
        self.begun, self.output = time.monotonic(), process.Output()

    def read(self, line):
        begin, end = BEGIN.search(line), END.search(line)
        if begin and self.current is None and begin[1] in self.left:
            self.turn()
            self.current = begin[1]
            del self.left[self.current]
        elif end and end[2] == self.current:
            self.some_failed |= end[1] == "FAILED"
            if line[:end.start()]:
                self.output.add(line[:end.start()])
            self.tell(OUTCOMES[end[1]], int(end[3]) / 1000)
        else:
            self.output.add(line)

    def tell(self, outcome, seconds=None):
        """The result of the case that it is in, or, between two cases, of the code around the last one."""
        name = self.names[self.current] if self.current else f"{self.around()} (around it)"
        seconds = time.monotonic() - self.begun if seconds is None else seconds
        self.report(Result(name, self.program.room, outcome, seconds, self.output.text()))
        self.last, self.current = self.current or self.last, None
        self.turn()

    def around(self):
        return self.names[self.last] if self.last else f"{self.program.room}.{os.path.basename(self.program.path)}"

    def follow(self, running):
        """Reads to the end, or until a case takes too long."""
        try:
            while (line := running.next_line(self.begun + self.limit)) is not None:
                self.read(line)
            status = running.end(self.begun + self.limit)
        except process.Late:
            self.output.add(f"killed: no end after {self.limit:g} s")
            self.tell(TIMEOUT)
            return
        # GoogleTest ends with 1 when a case failed; any other end without a result is told.
        if self.current or self.left or status not in ((0, 1) if self.some_failed else (0,)):
            self.output.add(f"the process ended: {process.how_it_ended(status)}")
            self.tell(process.how_it_ended(status) if status < 0 else FAILED)


def run(program, cases, limit, report, shuffle=None):
    """Runs the cases; `report` gets a Result for each. `limit` is in seconds for one case."""
    cases = list(cases)
    while cases:
        with tempfile.NamedTemporaryFile("w", prefix="weft-cases-", suffix=".txt") as flags:
            flags.write("--gtest_color=no\n--gtest_brief=0\n--gtest_filter=" + ":".join(case.filter for case in cases) + "\n")
            if shuffle:
                flags.write(f"--gtest_shuffle\n--gtest_random_seed={shuffle}\n")
            flags.flush()
            state = _Run(program, cases, limit, report)
            with process.Process([program.path, f"--gtest_flagfile={flags.name}"], program.environment, program.folder) as running:
                state.follow(running)
        rest = [case for case in cases if case.filter in state.left]
        if len(rest) == len(cases):  # it does not reach its first case
            for case in rest:
                report(Result(case.name, program.room, FAILED, 0, "not run: its program ends before its first case"))
            return
        cases = rest
