# SPDX-License-Identifier: Apache-2.0
"""The process without a GPU: starts all parts at once, so that they load and compile side by side, gives each its turn in the order of their worth,
ends what is over its time, and writes every line as it comes."""
import contextlib
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

from . import patterns, tables, targets

# Of Python, and of compute-sanitizer.
ERROR = re.compile(r"[\w.]*(Error|Problem|Exception)\b|========= (?!COMPUTE|ERROR SUMMARY|    )\S")
GRACE = 5  # seconds behind the turn: a part looks at the clock between two things
SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "device-check"


class Part:
    """A process with those that it starts, its lines, and what became of it. One that `may_be_left_out` is slowed down by a sanitizer, the words `before`
    it, nobody knows how much: that it was not through is no fault."""

    def __init__(self, name, words, options, folder, before=()):
        self.name, self.lines, self.is_ready, self.is_over = name, queue.Queue(), False, False
        self.may_be_left_out, self.has_ended = bool(before), False
        self.errors = folder / f"{name}.err"
        self.errors.unlink(missing_ok=True)
        shared = ["--kernels", options.kernels, "--cases", options.cases, *(["--emulated"] if options.emulated else [])]
        with open(self.errors, "a") as errors:
            self.process = subprocess.Popen([*before, sys.executable, str(SCRIPT), *words, *map(str, shared)], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors, text=True, env=surroundings(options),
                                            start_new_session=True)  # fmt: skip
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            try:
                self.lines.put(json.loads(line))
            except json.JSONDecodeError:  # a library's own words
                with open(self.errors, "a") as errors:
                    errors.write(line)
        self.lines.put(None)

    def take(self, until):
        """The next line; None where the process is through or the time is up."""
        while not self.is_over:
            try:
                line = self.lines.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                return None
            if line is None:
                self.is_over = True
            elif line.get("ready"):
                self.is_ready = True
                return line
            else:
                return line
        return None

    def begin(self, seconds):
        """Gives it its turn. Errors: OSError where the process is gone."""
        self.process.stdin.write(f"{seconds:.1f}\n")
        self.process.stdin.flush()

    def end(self):
        """Ends the process and all that it started, as `weft bench model`, compilers of Inductor, and what compute-sanitizer runs."""
        if self.has_ended:
            return
        self.has_ended = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        with contextlib.suppress(OSError):  # a turn that it did not read
            self.process.stdin.close()

    def complaint(self):
        written = self.errors.read_text(errors="replace").strip().splitlines()
        errors = [line for line in written if ERROR.match(line)]
        # The first that compute-sanitizer says is where it began; Python's last line is what ended it.
        place = 0 if errors and errors[0].startswith("=====") else -1
        return (errors or written or ["it wrote nothing"])[place][:300]


def surroundings(options):
    """Those of this process, with what scripts/cuda/device-pack carries: libraries of Debian, and the Python package."""
    found = dict(os.environ)
    for name, folder in (("LD_LIBRARY_PATH", options.libraries / "lib"), ("PYTHONPATH", options.libraries / "python")):
        if folder.is_dir():
            found[name] = os.pathsep.join([str(folder.resolve()), *filter(None, [os.environ.get(name)])])
    return found


class Check:
    """What all parts said, and the clock."""

    def __init__(self, options):
        self.options, self.begin = options, time.monotonic()
        self.folder = pathlib.Path(options.out)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file = open(self.folder / "device-check.jsonl", "w")
        self.lines, self.started = [], []

    def left(self):
        return self.options.seconds - (time.monotonic() - self.begin)

    def write(self, line):
        line = {**line, **({"emulated": True} if self.options.emulated else {}), "at": round(time.monotonic() - self.begin, 1)}
        self.lines.append(line)
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()
        print(shown(line), flush=True)

    def part(self, name, pattern=None, block=None, before=()):
        words = ["--part", name, *(["--pattern", pattern, "--block", str(block)] if pattern else [])]
        self.started.append(Part("-".join(str(of) for of in (name, pattern, block) if of), words, self.options, self.folder, before))
        return self.started[-1]

    def start(self):
        """The parts, those of most worth first, each with the seconds of its turn and those that it may load until."""
        if self.options.emulated:
            return [(self.part("exact"), 300, 600), (self.part("speed"), 300, 600), (self.part("flex", "window", 128), 300, 600),
                    (self.part("models"), 300, 600), (self.part("steps"), 300, 600)]  # fmt: skip
        parts = [(self.part("exact"), 22, 60)]
        sanitizer = shutil.which("compute-sanitizer")
        if sanitizer:
            parts.append((self.part("sanitizer", before=(sanitizer, "--tool", "memcheck", "--error-exitcode", "9")), 12, 50))
        else:
            for name in ("sanitizer", "races"):
                self.write({"part": name, "verdict": "not run: there is no compute-sanitizer"})
        parts.append((self.part("speed"), 15, 60))
        parts.extend((self.part("flex", timed.name, block), 8, 80) for timed in patterns.TIMED for block in timed.flex_blocks)
        parts.append((self.part("models"), 30, 90))
        parts.append((self.part("steps"), 40, 100))
        if sanitizer:
            parts.append((self.part("races", before=(sanitizer, "--tool", "racecheck", "--error-exitcode", "9")), 8, 100))
        return parts

    def run(self):
        try:
            for part, seconds, loaded in self.start():
                self.give_turn(part, seconds, min(loaded, self.options.seconds))
        finally:
            for part in self.started:
                part.end()
        for line in targets.judged(self.lines, 256 if self.options.emulated else targets.LENGTH):
            self.write(line)
        return self.close()

    def give_turn(self, part, seconds, loaded):
        left = self.left()
        if left <= 0 or (part.may_be_left_out and left < seconds):
            self.write(missed(part, f"cut: the {self.options.seconds} s are over" if left <= 0 else f"{left:.0f} s are left, and it takes {seconds}"))
            return
        seconds = min(seconds, left)
        while not part.is_ready and not part.is_over and part.take(self.begin + loaded) is not None:
            pass
        if not part.is_ready:
            if part.is_over:
                self.write({"part": part.name, "problem": f"did not begin: {part.complaint()}"})
            else:
                self.write(missed(part, f"did not begin: it was not loaded after {loaded} s"))
            part.end()
            return
        try:
            part.begin(seconds)
        except OSError:
            part.end()
            self.write({"part": part.name, "problem": f"ended with {part.process.returncode} before its turn: {part.complaint()}"})
            return
        until = time.monotonic() + seconds + GRACE
        while (line := part.take(until)) is not None:
            self.write(line)
        if not part.is_over:
            self.write(missed(part, f"cut: it was not through after {seconds + GRACE:.0f} s"))
        elif part.process.wait() != 0:
            self.write({"part": part.name, "problem": f"ended with {part.process.returncode}: {part.complaint()}"})
        part.end()

    def close(self):
        """0 where nothing is wrong; what was not run or is short is said and is no error."""
        wrong = [line for line in self.lines if line.get("wrong") or line.get("problem")]
        # A part that was ended has not said how many calls it checked.
        checked = max(sum(line.get("checked", 0) for line in self.lines), sum("errors" in line and line["part"] == "exact" for line in self.lines))
        self.write({"part": "end", "calls_checked": checked, "wrong": len(wrong), "seconds": round(time.monotonic() - self.begin, 1)})
        self.file.close()
        (self.folder / "device-check.md").write_text("\n".join(tables.page(self.lines)) + "\n")
        return 1 if wrong or checked == 0 else 0


def missed(part, why):
    return {"part": part.name, **({"verdict": f"not run: {why}"} if part.may_be_left_out else {"problem": why})}


def shown(line):
    """For a person: the part, and what it says, numbers in three digits."""
    words = [line.get("part", "?")]
    for name, value in line.items():
        if name not in ("part", "at", "emulated") and value is not None:
            words.append(f"{name} {number(value)}")
    return f"{line['at']:6.1f}  " + "  ".join(words)


def number(value):
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list):
        return "[" + ", ".join(number(of) for of in value) + "]"
    return str(value)
