# SPDX-License-Identifier: Apache-2.0
"""Runs `weft` and says what it printed, how long it took and how much memory it held; compares two programs in turns."""
import dataclasses
import json
import os
import subprocess
import time

from .documents import Problem

DISAGREEMENT = ("THE TURNS DISAGREE: in one turn a program took half again as long as in another, so something else used the processor. "
                "Take the times as rough, or run the demo again.")


@dataclasses.dataclass(frozen=True)
class Finished:
    figures: dict  # what --json printed
    seconds: float
    peak_gb: float


def ending(code):
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def reason(log, shown=False):
    """The line of a program's messages that says why it failed."""
    lines = log.strip().splitlines()
    errors = [line for line in lines if "error: " in line] or lines[-1:]
    return "its messages are above" if shown else errors[0][:300] if errors else "it left no message; it may have run out of memory"


def available_memory():
    """Bytes that programs may take before the machine swaps; without end where the system does not say."""
    try:
        with open("/proc/meminfo") as lines:
            return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return float("inf")


class Weft:
    """The program, and the folder for what it prints."""

    def __init__(self, program, out):
        if not os.access(program, os.X_OK):
            raise Problem(f"{program} is not built: run make build")
        self.program, self.out = program, out

    def json(self, *arguments, show=False):
        """Runs a command with --json. Progress and notes go to the terminal with `show`, to a log otherwise."""
        printed, log = self.out / "printed.json", self.out / "log.txt"
        command = [str(self.program), *map(str, arguments), "--json"]
        with open(printed, "wb") as output, open(log, "wb") as errors:
            start = time.monotonic()
            process = subprocess.Popen(command, stdout=output, stderr=None if show else errors)
            try:
                _, status, usage = os.wait4(process.pid, 0)
            except KeyboardInterrupt:
                process.wait()
                raise
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise Problem(f"`weft {arguments[0]}` ended with {ending(process.returncode)}: {reason(log.read_text(errors='replace'), show)}")
        lines = [json.loads(line) for line in printed.read_text().splitlines() if line.startswith("{")]
        figures = {name: value for line in lines for name, value in line.items()}
        return Finished(figures, time.monotonic() - start, usage.ru_maxrss * 1024 / 1e9)

    def text(self, *arguments):
        """What a command prints for people."""
        process = subprocess.run([str(self.program), *map(str, arguments)], capture_output=True)
        if process.returncode != 0:
            raise Problem(f"`weft {arguments[0]}` ended with {ending(process.returncode)}: {reason(process.stderr.decode(errors='replace'))}")
        return process.stdout.decode(errors="replace")


@dataclasses.dataclass(frozen=True)
class Turns:
    """Seconds of two programs that took turns: A B A B."""

    first: list
    second: list
    names: tuple = ("first", "second")

    @property
    def sides(self):
        return list(zip(self.names, (self.first, self.second)))

    @property
    def ratio(self):
        """How many times as long the second took, each in its best turn."""
        return min(self.second) / min(self.first)

    @property
    def disagree(self):
        """Whether something else must have run: the slowest turn of a program took half again as long as its fastest."""
        return any(max(seconds) > 1.5 * min(seconds) for _, seconds in self.sides)

    def each(self):
        for number, pair in enumerate(zip(self.first, self.second), 1):
            yield f"    turn {number}: " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in zip(self.names, pair))

    def spread(self):
        return f"best of {len(self.first)} turns: " + ", ".join(f"{name} {min(seconds):.2f} to {max(seconds):.2f} s" for name, seconds in self.sides)


def take_turns(first, second, rounds, names):
    """Calls two functions in turns, which return seconds."""
    pairs = [(first(), second()) for _ in range(rounds)]
    return Turns([one for one, _ in pairs], [two for _, two in pairs], tuple(names))
