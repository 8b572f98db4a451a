# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share: running the program, a small text, and a model that trains in a second."""

import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import forked  # noqa: E402

BINARY = os.environ.get("WEFT_BINARY") or str(pathlib.Path(__file__).resolve().parents[2] / "build/release/bin/weft")

# Small enough for many runs a minute, and with every part of the model in it. One thread, so that losses are equal to the bit.
TINY = ["--context", "64", "--batch-size", "2", "--layers", "2", "--width", "32", "--heads", "2", "--dtype", "float32",
        "--threads", "1"]
PATTERN = "causal & (window(left=8) | stride(8))"


# The last three hold Weft, LibTorch and oneDNN to an instruction set: scripts/test-levels.
KEPT = ("PATH", "HOME", "LD_LIBRARY_PATH", "TMPDIR", "WEFT_ISA", "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA")


def environment(**extra):
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    # No calibration of this machine is found and no tokens are kept, unless a test says where.
    return {**kept, "LC_ALL": "C.UTF-8", "XDG_CACHE_HOME": "/nonexistent", "WEFT_CACHE_GB": "0", **extra}


def weft(*arguments, by_fork=True, **keywords):
    """The finished process with text on stdout and stderr; by a fork (tests/support/forked.py) unless the start or the memory of the program matters."""
    keywords = {"env": environment(), "timeout": 120, "errors": "replace", "capture_output": True, "text": True, **keywords}
    command = [BINARY, *map(str, arguments)]
    return forked.begin(subprocess.run, command, environment(), **keywords) if by_fork else subprocess.run(command, **keywords)


def begin_weft(*arguments, by_fork=True, **keywords):
    """The process that has begun; by a fork unless more is done with it than to wait for its end, to end it, and to read what it prints."""
    keywords = {"env": environment(), **keywords}
    command = [BINARY, *map(str, arguments)]
    return forked.begin(subprocess.Popen, command, environment(), **keywords) if by_fork else subprocess.Popen(command, **keywords)


def weft_json(*arguments):
    """What `weft ... --json` prints, or a failure that shows stderr."""
    process = weft(*arguments, "--json")
    if process.returncode != 0:
        raise AssertionError(f"weft {arguments} exited with {process.returncode}: {process.stderr}")
    return json.loads(process.stdout)


def losses(run):
    """The loss of every step in a run's metrics, as written."""
    lines = (pathlib.Path(run) / "metrics.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    return [(entry["step"], entry["loss"]) for entry in entries if "loss" in entry]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def has_reached(run_directory, step):
    """Whether a run has a checkpoint of `step` or of a later one: a fast run has deleted the earlier ones."""
    names = [found.name for found in (run_directory / "checkpoints").glob("step-*")]
    return any(int(name[5:]) >= step for name in names if name[5:].isdigit())


class Case(unittest.TestCase):
    """A test with a folder of its own that holds train.txt and held-out.txt."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weft-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        words = ["graph", "token", "query", "key", "value", "window", "stride", "block", "head", "layer"]
        draw = random.Random(1)
        for name, count in (("train.txt", 4000), ("held-out.txt", 400)):
            text = " ".join(draw.choice(words) for _ in range(count))
            (self.folder / name).write_text(text)
        self.train_text = self.folder / "train.txt"
        self.held_out = self.folder / "held-out.txt"
        self.run_directory = self.folder / "run"

    def train_arguments(self, out, *more):
        pattern = [] if "--attention" in more else ["--attention", PATTERN]
        return ["train", "--train-text", self.train_text, *TINY, *pattern, "--out", out, *more]

    def train(self, *more, out=None):
        process = weft(*self.train_arguments(out or self.run_directory, *more))
        self.assertEqual(process.returncode, 0, process.stderr)
        return process

    def assert_fails(self, process, code, *parts):
        """One line `weft: error: ...`, perhaps one `hint: ...`, and nothing on stdout."""
        self.assertEqual(process.returncode, code, process.stdout + process.stderr)
        self.assertEqual(process.stdout, "")
        lines = process.stderr.splitlines()
        errors = [line for line in lines if line.startswith("weft: error: ")]
        self.assertEqual(len(errors), 1, process.stderr)
        after = lines[lines.index(errors[0]) + 1:]
        self.assertTrue(all(line.startswith("hint: ") for line in after), process.stderr)
        self.assertLessEqual(len(after), 1)
        for part in parts:
            self.assertIn(part, "\n".join([errors[0], *after]))

    def launch(self, arguments, count=2, by_fork=True):
        port = str(free_port())
        started = []
        for rank in range(count):
            variables = environment(RANK=str(rank), WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
                                    GLOO_SOCKET_IFNAME="lo")
            started.append(begin_weft(*arguments, by_fork=by_fork, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables))
            self.addCleanup(started[-1].kill)
        return started

    def together(self, arguments, count=2):
        """Runs to the end; what the first process printed."""
        started = self.launch(arguments, count)
        outputs = [process.communicate(timeout=200) for process in started]
        for process, (_, stderr) in zip(started, outputs):
            self.assertEqual(process.returncode, 0, stderr)
        self.assertTrue(all(stdout == "" and stderr == "" for stdout, stderr in outputs[1:]), "one process speaks")
        return outputs[0][0]

    def stop_one_of_two(self, out, victim, stop_signal):
        """Two processes of which one is stopped after some steps: the other ends with one line that names it."""
        started = self.launch(self.train_arguments(out, "--steps", "100000", "--checkpoint-every", "5"), by_fork=False)
        end = time.monotonic() + 100
        while time.monotonic() < end and not has_reached(out, 10):
            time.sleep(0.01)
        self.assertTrue((out / "checkpoints").exists())
        started[victim].send_signal(stop_signal)
        _, stderr = started[1 - victim].communicate(timeout=250)
        started[victim].kill()
        started[victim].communicate()
        self.assertEqual(started[1 - victim].returncode, 1, stderr)
        errors = [line for line in stderr.splitlines() if line.startswith("weft: error: ")]
        self.assertEqual(len(errors), 1, stderr)
        self.assertIn(f"process {victim} of 2", errors[0])

    def kill_at(self, arguments, step):
        """Begins a run and kills it (-9) once it has a checkpoint of `step`, or later. A run that ends before this script is given a core begins again."""
        for _ in range(10):
            shutil.rmtree(self.run_directory, ignore_errors=True)
            process = begin_weft(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(process.kill)
            while process.poll() is None:  # the test run's own limit ends a run that never comes there
                if has_reached(self.run_directory, step):
                    process.kill()
                    break
                time.sleep(0.002)
            process.communicate()
            if process.returncode != 0:
                break
        self.assertEqual(process.returncode, -signal.SIGKILL, "the run ended before it could be killed: give it more steps")
