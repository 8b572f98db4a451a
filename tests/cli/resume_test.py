# SPDX-License-Identifier: Apache-2.0
"""Stopping and going on: Ctrl-C, SIGTERM, kill -9, a full disk. A resumed run by steps has the losses of one never stopped, to the
last bit, and what was saved is never lost."""

import json
import os
import resource
import signal
import subprocess
import time
import unittest

from weft_program import BINARY, Case, environment, losses, weft, weft_json

STEPS = "40"


class ResumeTest(Case):
    def start(self, out, *more):
        arguments = [BINARY, *map(str, self.train_arguments(out, "--steps", STEPS, "--checkpoint-every", "5", *more))]
        return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())

    def stop_after(self, process, out, step, stop_signal):
        """Sends the signal once the metrics have `step`."""
        deadline = time.monotonic() + 100
        while process.poll() is None and time.monotonic() < deadline:
            try:
                if losses(out)[-1][0] >= step:
                    process.send_signal(stop_signal)
                    break
            except (FileNotFoundError, IndexError, json.JSONDecodeError):
                pass
            time.sleep(0.002)
        stdout, stderr = process.communicate(timeout=60)
        return process.returncode, stdout, stderr

    def whole_run(self):
        self.train("--steps", STEPS, "--checkpoint-every", "5", out=self.folder / "whole")
        return self.folder / "whole"

    def check_equal_to_whole(self, out):
        whole = self.whole_run()
        self.assertEqual(losses(out), losses(whole))
        self.assertEqual((out / "model.safetensors").read_bytes(), (whole / "model.safetensors").read_bytes())

    def test_interrupts_save_and_the_run_goes_on(self):
        for stop_signal in (signal.SIGINT, signal.SIGTERM):
            out = self.folder / stop_signal.name
            code, stdout, stderr = self.stop_after(self.start(out), out, 7, stop_signal)
            self.assertEqual(code, 130, stderr)
            self.assertEqual(stdout, "")
            self.assertIn("weft: error: ", stderr)
            self.assertIn("--resume", stderr)
            stopped = weft_json("info", out)["training"]["step"]
            self.assertEqual(stopped, losses(out)[-1][0], "what was trained is saved")
            self.assertLess(stopped, int(STEPS))
            found = weft_json("train", "--resume", "--out", out)
            self.assertEqual(found["steps"], int(STEPS))
            self.check_equal_to_whole(out)
            subprocess.run(["rm", "-r", str(self.folder / "whole")], check=True)

    def test_kill_minus_nine_leaves_a_run_that_resumes(self):
        out = self.run_directory
        for step in (3, 12, 23):
            code, _, stderr = self.stop_after(self.start(out) if step == 3 else self.again(out), out, step, signal.SIGKILL)
            self.assertIn(code, (-signal.SIGKILL, 0), stderr)
        self.assertEqual(weft("train", "--resume", "--out", out).returncode, 0)
        self.check_equal_to_whole(out)

    def again(self, out):
        return subprocess.Popen([BINARY, "train", "--resume", "--out", str(out)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=environment())

    def test_a_finished_run_resumes_to_the_same(self):
        out = self.whole_run()
        before = losses(out)
        found = weft_json("train", "--resume", "--out", out)
        self.assertEqual(found["steps"], int(STEPS))
        self.assertEqual(losses(out), before)

    def test_resume_refuses_other_fields_and_other_places(self):
        out = self.folder / "short"
        self.train("--steps", "2", out=out)
        process = weft("train", "--resume", "--out", out, "--width", "64")
        self.assertEqual(process.returncode, 1)
        self.assertIn("hidden_size", process.stderr)
        self.assert_fails(weft("train", "--resume", "--out", self.folder / "nothing"), 1, "nothing")

    def test_a_full_disk_is_one_clear_line_and_loses_nothing(self):
        out = self.run_directory
        self.train("--steps", "2", out=out)
        size = (out / "model.safetensors").stat().st_size

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, size // 2))

        process = subprocess.run([BINARY, *map(str, self.train_arguments(self.folder / "full", "--steps", "2"))],
                                 capture_output=True, text=True, check=False, env=environment(), preexec_fn=limit)
        self.assert_fails(process, 1, "File too large")
        self.assertFalse((self.folder / "full").exists())
        self.assertEqual(sorted(os.listdir(self.folder)), ["held-out.txt", "run", "train.txt"])


if __name__ == "__main__":
    unittest.main()
