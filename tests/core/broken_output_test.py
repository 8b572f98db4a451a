# SPDX-License-Identifier: Apache-2.0
"""Readers of the program's output that go away or stop, and files that may not grow: work goes on or ends with one line, never by a signal
that nobody sent."""

import http.client
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from encoder_program import make_model  # noqa: E402
from weft_program import BINARY, Case, environment, weft  # noqa: E402


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


class Pipe:
    """A pipe of which the writing end is for the program; its reader is gone, or reads nothing of a full pipe."""

    def __init__(self, case, stopped):
        self.reader, self.writer = os.pipe()
        case.addCleanup(os.close, self.writer)
        if not stopped:
            os.close(self.reader)
            return
        case.addCleanup(os.close, self.reader)
        os.set_blocking(self.writer, False)
        try:
            while True:
                os.write(self.writer, b"x" * 4096)
        except BlockingIOError:
            os.set_blocking(self.writer, True)


class BrokenOutputTest(Case):
    def begin(self, *arguments, **streams):
        process = subprocess.Popen([BINARY, *map(str, arguments)], text=True, env=environment(WEFT_LOG="debug", WEFT_PROGRESS_SECONDS="0"),
                                   **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams})
        self.addCleanup(process.kill)
        return process

    def test_training_and_server_outlive_the_reader_of_their_messages(self):
        for stopped in (False, True):
            out = self.folder / f"run-{stopped}"
            training = self.begin(*self.train_arguments(out, "--steps", "30", "--json"), stderr=Pipe(self, stopped).writer)
            printed = training.communicate(timeout=300)[0]
            self.assertEqual((training.returncode, json.loads(printed)["steps"]), (0, 30), f"stopped: {stopped}")
            server = self.begin("serve", out, "--port", "0", "--json", stderr=Pipe(self, stopped).writer)
            where = json.loads(server.stdout.readline())["listening"]
            connection = http.client.HTTPConnection("127.0.0.1", int(where.rsplit(":", 1)[1]), timeout=100)
            for _ in range(3):
                connection.request("GET", "/v1/models")
                answer = connection.getresponse()
                self.assertEqual((answer.status, bool(answer.read())), (200, True))
            connection.close()
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=100)
            self.assertEqual(server.returncode, 0, f"stopped: {stopped}")

    def test_results_that_nobody_can_read_are_an_error_of_one_line(self):
        training = self.begin(*self.train_arguments(self.run_directory, "--steps", "2"), stdout=Pipe(self, False).writer)
        stderr = training.communicate(timeout=300)[1]
        self.assertEqual(training.returncode, 1, stderr)
        self.assertIn("weft: error: writing to standard output failed\n", stderr)
        self.assertTrue((self.run_directory / "checkpoints/step-2").is_dir(), "the run stands")
        # Closed, so that a file of the run would get the number of standard output.
        closed = self.folder / "closed"
        process = subprocess.Popen([BINARY, *map(str, self.train_arguments(closed, "--steps", "2", "--json"))], env=environment(),
                                   preexec_fn=lambda: (os.close(1), os.close(2)))
        self.assertEqual(process.wait(timeout=300), 1)
        self.assertEqual(weft("train", "--resume", "--out", closed).returncode, 0)
        # As every program in front of head: it ends in silence.
        table = self.begin("pattern", "show", "causal", "--length", "64", stdout=Pipe(self, False).writer)
        self.assertEqual((table.communicate(timeout=100)[1], table.returncode), ("", -signal.SIGPIPE))

    def test_a_limit_of_file_sizes_is_an_error_that_names_the_file(self):
        self.train("--steps", "2")
        model = make_model(self.folder / "encoder", "bert", "sequence-classification")
        bare = make_model(self.folder / "bare", "bert", "masked-lm")
        again = ["init", "--config", model, "--out"]
        for arguments, name in ((self.train_arguments(self.folder / "other", "--steps", "2"), "safetensors"),
                                ([*again, self.folder / "new"], "new"),
                                (["convert", bare, "--length", "128", "--out", self.folder / "long"], "long"),
                                (["average", self.run_directory, "--out", self.folder / "mean"], "mean"),
                                (["report", self.run_directory], "report.html"),
                                (["tokenizer", "train", self.train_text, "--vocabulary-size", "600", "--out", self.folder / "words"], "words")):
            with self.subTest(command=arguments[0]):
                self.assert_fails(weft(*arguments, preexec_fn=small_files), 1, "File too large", name)
        texts = self.folder / "texts.txt"
        texts.write_text("the loom weaves\n" * 300)
        with open(self.folder / "labels", "w") as labels:
            classify = subprocess.run([BINARY, "classify", model, "--file", texts, "--json"], stdout=labels, stderr=subprocess.PIPE,
                                      text=True, preexec_fn=small_files, env=environment())
        self.assertEqual(classify.returncode, 1)
        self.assertTrue(classify.stderr.endswith("weft: error: writing to standard output failed\n"), classify.stderr)


if __name__ == "__main__":
    unittest.main()
