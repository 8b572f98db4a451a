# SPDX-License-Identifier: Apache-2.0
"""What a cell of a table may use: the program on a device, the data, and folders for what it makes. Cells that are computed side by side share all but
their scratch folder: of several that want the same run or file one makes it, and the others wait. Only so many programs run at once; of those that
wait, the one whose cell comes first in the list begins first.
"""
import contextlib
import functools
import heapq
import importlib.util
import itertools
import json
import os
import subprocess
import sys
import threading
import time
import typing

import programs

# Commands of the tables that compute with a model; the others have no --device.
ON_DEVICE = {"train", "eval", "profile", "translate", "answer"}


@functools.cache
def device_name(device):
    """The device with the name of the GPU, as NVIDIA's program has it."""
    try:
        found = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, check=False).stdout.splitlines()
    except FileNotFoundError:
        found = []
    number = int(device.partition(":")[2] or 0)
    return f"{device}: {found[number]}" if number < len(found) else device


def torch_python():
    """A Python with PyTorch: this one, or that of .venv."""
    return sys.executable if importlib.util.find_spec("torch") else programs.ROOT / ".venv/bin/python3"


class OutOfTime(Exception):
    """A cell took longer than it may, or all cells together."""


class Slots:
    """Leave for `count` programs at once, for those of the first rank first."""

    def __init__(self, count):
        self._free, self._waiting, self._numbers, self._changed = count, [], itertools.count(), threading.Condition()

    @contextlib.contextmanager
    def taken(self, rank, until=None):
        """`until`: a time of time.monotonic(), after which OutOfTime is raised."""
        ticket = (rank, next(self._numbers))
        with self._changed:
            heapq.heappush(self._waiting, ticket)
            left = None if until is None else max(0.0, until - time.monotonic())
            is_first = self._changed.wait_for(lambda: self._free > 0 and self._waiting[0] == ticket, left)
            self._waiting.remove(ticket)
            heapq.heapify(self._waiting)
            self._changed.notify_all()
            if not is_first:
                raise OutOfTime("the time for all cells is over")
            self._free -= 1
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()


class Shared:
    """What the cells of a table have together: locks, one for each thing that is made."""

    def __init__(self, slots):
        self.slots, self._locks, self._guard = slots, {}, threading.Lock()

    def lock(self, path):
        with self._guard:
            return self._locks.setdefault(str(path), threading.RLock())


class Program(typing.NamedTuple):
    """weft, the threads of each of its processes, and where models compute: cpu, cuda or cuda:N."""
    path: str
    threads: int = 2
    device: str = "cpu"


class World:
    """`shared`: of cells that run side by side. `seconds`: how long the programs of a cell may take together, None without
    a limit. `until`: the time of time.monotonic() at which all cells end."""

    def __init__(self, program, data, folder, shared=None):
        self.program, self.data, self.folder = program, data, folder
        self.weft_program, self.threads, self.device = program
        self.shared = shared or Shared(Slots(1))
        self.rank, self.seconds, self.until, self.scratch = 0, None, None, folder
        self.dtypes, self.is_on_device = set(), False
        folder.mkdir(parents=True, exist_ok=True)
        os.environ.setdefault("OMP_NUM_THREADS", str(program.threads))
        os.environ.setdefault("WEFT_THREADS", str(program.threads))

    def of_cell(self, rank, name, seconds, until):
        """The world of one cell."""
        cell = World(self.program, self.data, self.folder, self.shared)
        cell.rank, cell.seconds, cell.until, cell.scratch = rank, seconds, until, self.folder / "cells" / name
        cell.scratch.mkdir(parents=True, exist_ok=True)
        return cell

    def where(self):
        """What a line of results says: the device, and the number formats that models learned in."""
        dtypes = {"dtype": ", ".join(sorted(self.dtypes))} if self.dtypes else {}
        return {"device": device_name(self.device) if self.is_on_device else "cpu"} | dtypes

    def _command(self, arguments):
        flags = ["--device", self.device] if arguments[0] in ON_DEVICE and self.device != "cpu" else []
        self.is_on_device |= bool(flags)
        return [str(word) for word in (self.weft_program, *arguments, *flags)]

    def run(self, *arguments):
        """What a command prints."""
        return self._printed(self._command(arguments))

    def weft(self, *arguments, folder=None):
        """The JSON that a command prints. `folder`: where it runs, for the files that an expression names."""
        return programs.json_of(self._printed([*self._command(arguments), "--json"], folder))

    def apart(self, *command):
        """What another program prints."""
        return self._printed([str(word) for word in command])

    def _printed(self, command, folder=None):
        with self.shared.slots.taken(self.rank, self.until):
            begin, left = time.monotonic(), self._left()
            if left is not None and left <= 0:
                raise OutOfTime("the time of the cell is over")
            print("$", " ".join(command), file=sys.stderr, flush=True)
            try:
                return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=left, cwd=folder).stdout
            except subprocess.TimeoutExpired:
                raise OutOfTime(f"weft {command[1]} was ended") from None
            finally:
                if self.seconds is not None:
                    self.seconds -= time.monotonic() - begin

    def _left(self):
        left = [self.seconds] if self.seconds is not None else []
        left += [self.until - time.monotonic()] if self.until is not None else []
        return min(left, default=None)

    @contextlib.contextmanager
    def making(self, path):
        """Whether `path` is missing, while nobody else makes it."""
        lock = self.shared.lock(path)
        left = None if self.until is None else max(0.0, self.until - time.monotonic())
        if not lock.acquire(timeout=-1 if left is None else left):
            raise OutOfTime(f"another cell still makes {path}")
        try:
            yield not path.exists()
        finally:
            lock.release()

    def made(self, path, *command):
        """`path`, which `weft command --out path` makes where it is missing."""
        with self.making(path) as is_missing:
            if is_missing:
                path.parent.mkdir(parents=True, exist_ok=True)
                self.run(*command, "--out", path)
        return path

    def written(self, path, text):
        """`path`, with what text() returns where it is missing."""
        with self.making(path) as is_missing:
            if is_missing:
                self.write(path, text())
        return path

    def write(self, path, text):
        """A file that is whole whenever it is there."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{threading.get_ident()}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(path)

    def trained(self, run, *flags):
        """What `weft train` prints; a run that was stopped goes on, and what one that is done printed is in its folder."""
        printed = run / "science.json"
        with self.making(printed) as is_missing:
            if is_missing:
                run.parent.mkdir(parents=True, exist_ok=True)
                found = self.weft("train", *(["--resume"] if run.exists() else flags), "--out", run)
                self.write(printed, json.dumps(found))
            found = json.loads(printed.read_text(encoding="utf-8"))
        self.dtypes.add(found["dtype"])
        self.is_on_device |= self.device != "cpu"
        return found
