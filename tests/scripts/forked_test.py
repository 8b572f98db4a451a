# SPDX-License-Identifier: Apache-2.0
"""The program by a fork (tests/support/forked.py) is the program: its output, exit status, signals, folder, variables and open files; and no fork
outlives its client, its server, or the script that began it."""

import concurrent.futures
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from encoder_program import TOKENIZERS  # noqa: E402
from weft_program import BINARY, Case, begin_weft, environment, forked, has_reached, weft  # noqa: E402

READS = ["tokenize", TOKENIZERS / "bert"]  # waits for standard input
BEGINS = f"""import os, sys
sys.path[:0] = {[str(pathlib.Path(__file__).resolve().parents[1] / "cli")]!r}
from weft_program import begin_weft
process = begin_weft(*{[str(word) for word in READS]!r}, stdin=0)
print("begun", flush=True)
process.wait()
"""


def children(process):
    """Process numbers."""
    found = pathlib.Path(f"/proc/{process}/task/{process}/children")
    return [int(number) for number in found.read_text().split()] if found.exists() else []


def wait_until(case, holds, what):
    end = time.monotonic() + 100
    while not holds():
        case.assertLess(time.monotonic(), end, what)
        time.sleep(0.01)


def is_gone(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def open_files(process):
    """The kinds of what a process has open that are no files of a folder."""
    kinds = []
    for entry in pathlib.Path(f"/proc/{process}/fd").iterdir():
        try:
            kinds.append(os.readlink(entry).split(":")[0])
        except FileNotFoundError:
            pass  # closed by now
    return [kind for kind in kinds if kind in ("pipe", "socket", "anon_inode")]


@unittest.skipUnless("WEFT_FORK" in os.environ, "WEFT_FORK names no server")
class ForkedTest(Case):
    def begin(self, *arguments, **keywords):
        process = begin_weft(*arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **keywords)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def server(self):
        """The process number of the server that this script has begun."""
        forked.served(environment())
        (found,) = [child for child in children(os.getpid())
                    if pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[0].endswith(b"test_fork_server")]
        return found

    def begin_and_find(self, **keywords):
        """A client whose fork waits for input, and the fork."""
        before = set(children(self.server()))
        process = self.begin(*READS, **keywords)
        wait_until(self, lambda: set(children(self.server())) - before, "the fork begins")
        (fork,) = set(children(self.server())) - before
        return process, fork

    def test_output_and_status_are_those_of_the_program(self):
        (self.folder / "lines.txt").write_text("the loom\nweaves\n")
        for arguments, keywords in ((["version"], {}), (["pattern", "show", "causal & window(3)", "--length", "16"], {}),
                                    (["tokenize", TOKENIZERS / "bert", "--file", "lines.txt"], {"cwd": self.folder}),
                                    ([*READS, "--json"], {"input": "the loom\nweaves"}),
                                    ([*READS, "--json"], {"input": "x\xff", "errors": "surrogateescape"}),
                                    (["pattern", "show", "window(", "--length", "16"], {}), (["patern"], {}), ([], {}),
                                    (["eval", "absent", "--text", "absent"], {"env": environment(WEFT_LOG="debug", WEFT_THREADS="0")}),
                                    (["bench", "attention", "--length", "64", "--pattern", "full", "--threads", "x"], {})):
            with self.subTest(arguments=arguments):
                found, expected = weft(*arguments, **keywords), weft(*arguments, by_fork=False, **keywords)
                self.assertEqual((found.returncode, found.stdout, found.stderr), (expected.returncode, expected.stdout, expected.stderr))
                self.assertNotIn("forked", found.stderr)

    def test_training_is_the_same_to_the_bit(self):
        forks, itself = self.folder / "forks", self.folder / "itself"
        self.train("--steps", "4", out=forks)
        self.assertEqual(weft(*self.train_arguments(itself, "--steps", "4"), by_fork=False).returncode, 0)
        self.assertEqual((forks / "model.safetensors").read_bytes(), (itself / "model.safetensors").read_bytes())

    def test_open_files_folder_and_mask(self):
        process, fork = self.begin_and_find(cwd=self.folder)
        wait_until(self, lambda: sorted(open_files(fork)) == ["pipe"] * 3, "the fork has its own files alone")
        self.assertEqual(os.readlink(f"/proc/{fork}/cwd"), os.path.realpath(self.folder))
        self.assertEqual(process.communicate(b"the loom\n")[0], b"[CLS] the loom [SEP]\n")
        self.assertEqual(process.returncode, 0)
        before = os.umask(0o077)
        try:
            self.train("--steps", "1")
        finally:
            os.umask(before)
        self.assertEqual((self.run_directory / "config.json").stat().st_mode & 0o077, 0)

    def test_signals_go_both_ways(self):
        process, fork = self.begin_and_find()
        os.kill(fork, signal.SIGALRM)
        self.assertEqual(process.wait(100), -signal.SIGALRM)
        process, fork = self.begin_and_find()
        process.kill()
        wait_until(self, lambda: is_gone(fork), "the fork ends with its client")
        training = self.begin(*self.train_arguments(self.run_directory, "--steps", "1000000", "--checkpoint-every", "1"))
        wait_until(self, lambda: has_reached(self.run_directory, 1), "a step")
        training.send_signal(signal.SIGINT)
        self.assertEqual(training.wait(100), 130, "interrupted, with state saved")

    def test_many_at_a_time(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda number: weft(*READS, input=f"{number}\n" * (number + 1)), range(24)))
        for number, done in enumerate(found):
            self.assertEqual((done.returncode, done.stdout.count("\n"), done.stderr), (0, number + 1, ""))

    def test_what_a_fork_cannot_be_is_the_program_itself(self):
        usual = forked.served(environment())
        client = forked.program(BINARY, environment(WEFT_LOG="debug", **usual))
        self.assertTrue(client.endswith("_client"))
        for name in ("OMP_NUM_THREADS", "WEFT_ISA", "LD_DEBUG", "ONEDNN_VERBOSE"):
            self.assertEqual(forked.program(BINARY, environment(**usual, **{name: "1"})), BINARY, name)
        self.assertEqual(forked.program(BINARY, environment()), BINARY, "no server is named")
        before = children(self.server())
        limited = weft(*READS, input="the loom\n", preexec_fn=lambda: None)
        self.assertEqual((limited.stdout, children(self.server())), ("[CLS] the loom [SEP]\n", before))

    def end_of_another_script(self, end):
        """What is left of a script that began a server and a fork, once `end` was done to (script, server, fork)."""
        script = subprocess.Popen([sys.executable, "-c", BEGINS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(script.communicate)
        self.addCleanup(script.kill)
        self.assertEqual(script.stdout.readline(), "begun\n")
        server = next(child for child in children(script.pid) if children(child) or b"_server" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes())
        wait_until(self, lambda: children(server), "the fork begins")
        (fork,) = children(server)
        end(script, server, fork)
        wait_until(self, lambda: is_gone(server), "the server ends")
        wait_until(self, lambda: is_gone(fork), "the fork ends")
        return script

    def test_nothing_is_left_behind(self):
        self.end_of_another_script(lambda script, server, fork: script.kill())
        script = self.end_of_another_script(lambda script, server, fork: os.kill(server, signal.SIGKILL))
        self.assertIn("the server ended", script.communicate(timeout=100)[1])


if __name__ == "__main__":
    unittest.main()
