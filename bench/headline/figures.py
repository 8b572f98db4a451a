# SPDX-License-Identifier: Apache-2.0
"""The headline figures: what each is called, its unit, whether more is better, and how it is measured.

A figure is one number of one command. Commands that give several numbers run once: their answer is kept in the context.
"""
import dataclasses
import json
import pathlib
import resource
import subprocess
import time

from headline import long_texts

PEER = pathlib.Path(__file__).resolve().parent / "transformers_peer.py"
PATTERNS = {"bigbird": "block(64, global(first=1, last=1) | window(3))", "window": "window(512)", "causal": "causal & window(left=512, right=0)", "full": "full"}
GROUPS = ("attention", "models", "training", "start", "long")
# Names of a family for `weft init`, and what its directory is made with.
SHAPES = {"big_bird": ["--vocab-size", 50358], "longformer": ["--vocab-size", 50265, "--pad-token-id", 1]}
LENGTH = 4096


class NoTime(Exception):
    """A command that would end too late: it is not begun."""


class Context:
    """What commands are run with, until when, and what they said."""

    def __init__(self, weft, peer_python, threads, folder, seconds):
        self.weft, self.peer_python, self.threads, self.folder = weft, peer_python, threads, folder
        self.end = time.monotonic() + seconds
        self.answers = {}

    def time_for(self, expected_seconds):
        """The seconds that are left; NoTime where they are fewer than a command is expected to take."""
        left = self.end - time.monotonic()
        if left < expected_seconds:
            raise NoTime(f"{max(left, 0):.0f} s were left, and it takes about {expected_seconds:.0f}")
        return left

    def json(self, command, expected_seconds):
        """The last line of JSON that a command prints; it runs once, and what it answered takes no time again."""
        key = tuple(map(str, command))
        if key not in self.answers:
            self.answers[key] = self.run(key, self.time_for(expected_seconds))
        if isinstance(self.answers[key], str):
            raise RuntimeError(self.answers[key])
        return self.answers[key]

    @staticmethod
    def run(command, limit):
        """What the command answers, or as a string why it failed: it would fail again."""
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        if done.returncode:
            return (done.stderr.strip().splitlines() or [f"it ended with {done.returncode} and said nothing"])[-1][:200]
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else "it printed no JSON"

    def model(self, family):
        """A directory of base size with random weights."""
        directory = self.folder / family
        if not directory.exists():
            subprocess.run(list(map(str, [self.weft, "init", "--family", family, "--max-position-embeddings", LENGTH + 2, *SHAPES[family], "--out", directory])),
                           check=True, capture_output=True)
        return directory


@dataclasses.dataclass
class Figure:
    name: str
    unit: str
    more_is_better: bool
    read: object  # (context) -> number; NoTime where a command that it needs would end too late
    is_peer: bool = False
    needs_peers: bool = False  # a figure of Weft that counts only beside a peer's answer

    def measure(self, context):
        try:
            return Measured(self, self.read(context))
        except NoTime as error:
            return Measured(self, why=f"not run: {error}", no_time=True)
        except subprocess.TimeoutExpired as error:
            return Measured(self, why=f"not run: it took longer than the {error.timeout:.0f} s that were left", no_time=True)
        except RuntimeError as error:
            return Measured(self, why=f"not run: {error}")
        except subprocess.CalledProcessError as error:  # a directory that could not be made: the figures before it are kept
            said = (error.stderr or b"").decode(errors="replace").strip().splitlines() or [f"it ended with {error.returncode}"]
            return Measured(self, why=f"not run: {said[-1][:200]}")


@dataclasses.dataclass
class Measured:
    figure: Figure
    value: float | None = None
    why: str = ""
    no_time: bool = False  # not run because the time was over, which says nothing against an earlier figure

    def text(self):
        return self.why or f"{self.value:.4g} {self.figure.unit}"


def attention_figures():
    for dtype in ("float32", "bfloat16"):
        for name, pattern in PATTERNS.items():
            for field, what in (("efficiency", "forward"), ("forward_backward_efficiency", "both ways")):
                def read(context, pattern=pattern, dtype=dtype, field=field):
                    return context.json([context.weft, "bench", "attention", "--pattern", pattern, "--length", LENGTH, "--dtype", dtype, "--backward",
                                         "--rounds", 3, "--threads", context.threads, "--json"], 20)[field]  # fmt: skip
                yield Figure(f"attention {name} {dtype} {what}: efficiency", "of dense", True, read)


def model_read(family, dtype, field, expected_seconds, *flags):
    own = ["--weights", "int8"] if dtype == "int8" else ["--dtype", dtype]

    def read(context):
        command = [context.weft, "bench", "model", context.model(family), "--length", LENGTH, *own, "--repeats", 3, "--threads", context.threads]
        return context.json([*command, *flags, "--json"], expected_seconds)[field]
    return read


def peer_read(family, dtype, task, field, expected_seconds):
    def read(context):
        return context.json([context.peer_python, PEER, family, LENGTH, dtype, task, context.threads], expected_seconds)[field]
    return read


def model_figures():
    for family, dtype in (("big_bird", "bfloat16"), ("big_bird", "float32"), ("big_bird", "int8"), ("longformer", "bfloat16")):
        for field, unit in (("seconds", "s"), ("peak_gb", "GB")):
            name = f"{family} of {LENGTH:,} tokens, {dtype}: {'time' if unit == 's' else 'memory'}"
            yield Figure(name, unit, False, model_read(family, dtype, field, 25))
            if dtype != "int8":  # transformers has no int8 for a CPU
                yield Figure(f"{name} of transformers", unit, False, peer_read(family, dtype, "forward", field, 90), True)


def training_figures():
    for field, unit in (("seconds", "s"), ("peak_gb", "GB")):
        name = f"training step of big_bird, {LENGTH:,} tokens, bfloat16: {'time' if unit == 's' else 'memory'}"
        yield Figure(name, unit, False, model_read("big_bird", "bfloat16", field, 60, "--train"))
        yield Figure(f"{name} of transformers", unit, False, peer_read("big_bird", "float32", "train", field, 240), True)


def start_seconds(context):
    """Seconds of processor of a command that opens LibTorch and computes almost nothing; the least of five."""
    command = [context.weft, "bench", "attention", "--length", 1, "--heads", 1, "--head-dim", 8, "--rounds", 0, "--json"]
    least, left = None, context.time_for(10)
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(list(map(str, command)), check=True, capture_output=True, timeout=left)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        least = used if least is None else min(least, used)
    return least


def start_figures():
    yield Figure("start of a command with tensors, processor", "s", False, start_seconds)


def long_figures():
    for program, length in long_texts.rows():
        for field, (_, unit) in long_texts.FIELDS.items():
            yield Figure(long_texts.figure_name(program, length, field), unit, False, long_texts.read(program, length, field), program in long_texts.PEERS, True)


MAKERS = {"attention": attention_figures, "models": model_figures, "training": training_figures, "start": start_figures, "long": long_figures}


def all_figures(groups, with_peers):
    """Weft's own figures first: a peer must not take their time."""
    every = [figure for group in GROUPS if group in groups for figure in MAKERS[group]()]
    own = [figure for figure in every if not figure.is_peer and (with_peers or not figure.needs_peers)]
    return own + [figure for figure in every if figure.is_peer and with_peers]
