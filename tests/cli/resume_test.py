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

from weft_program import Case, begin_weft, losses, weft, weft_json

STEPS = "40"


class ResumeTest(Case):
    def start(self, out, *more):
        arguments = self.train_arguments(out, "--steps", STEPS, "--checkpoint-every", "5", *more)
        return begin_weft(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

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
            self.assertNotIn("error", stderr)
            self.assertIn("weft: stopped after step ", stderr)
            self.assertIn(f"hint: go on with: weft train --resume --out '{out}'", stderr)
            stopped = weft_json("info", out)["training"]["step"]
            self.assertEqual(stopped, losses(out)[-1][0], "what was trained is saved")
            self.assertLess(stopped, int(STEPS))
            found = weft_json("train", "--resume", "--out", out)
            self.assertEqual(found["steps"], int(STEPS))
            self.check_equal_to_whole(out)
            subprocess.run(["rm", "-r", str(self.folder / "whole")], check=True)

    def test_a_second_interrupt_waits_for_the_save(self):
        out = self.run_directory
        process = self.start(out)
        self.addCleanup(process.kill)
        send = process.send_signal
        process.send_signal = lambda number: (send(number), send(number))  # communicate() below sends none
        code, _, stderr = self.stop_after(process, out, 7, signal.SIGINT)
        self.assertEqual(code, 130, stderr)
        self.assertEqual(weft_json("info", out)["training"]["step"], losses(out)[-1][0], "what was trained is saved")

    def test_kill_minus_nine_leaves_a_run_that_resumes(self):
        out = self.run_directory
        for step in (3, 12, 23):
            code, _, stderr = self.stop_after(self.start(out) if step == 3 else self.again(out), out, step, signal.SIGKILL)
            self.assertIn(code, (-signal.SIGKILL, 0), stderr)
        self.assertEqual(weft("train", "--resume", "--out", out).returncode, 0)
        self.check_equal_to_whole(out)

    def again(self, out):
        return begin_weft("train", "--resume", "--out", out, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_a_finished_run_resumes_to_the_same(self):
        out = self.whole_run()
        before = losses(out)
        found = weft_json("train", "--resume", "--out", out)
        self.assertEqual(found["steps"], int(STEPS))
        self.assertEqual(losses(out), before)

    def test_a_finished_run_can_be_made_longer(self):
        out = self.whole_run()
        before = losses(out)
        process = weft("train", "--resume", "--out", out, "--steps", "60")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("for 60 steps", process.stderr)
        self.assertIn("from step 41 on the learning rate follows the cosine schedule of the new length", process.stderr)
        self.assertEqual(len(losses(out)), 60)
        self.assertEqual(losses(out)[:40], before)
        again = weft("train", "--resume", "--out", out)
        self.assertNotIn("learning rate follows", again.stderr)
        self.assert_fails(weft("train", "--resume", "--out", out, "--steps", "50"), 2, "--steps", "at least 60", "found 50")
        both = weft("train", "--resume", "--out", out, "--minutes", "1")
        self.assert_fails(both, 2, "--minutes", "is given in steps", "make it longer with --steps N")
        self.assertEqual(weft("report", out).returncode, 0)

    def test_resumptions_leave_no_temporary_files(self):
        out = self.whole_run()
        for _ in range(2):
            weft_json("train", "--resume", "--out", out)
        self.assertEqual([path for path in out.rglob("*") if "weft-tmp" in path.name], [])

    def test_a_damaged_checkpoint_is_one_clear_line(self):
        out = self.whole_run()
        weights = out / "checkpoints/step-40/model.safetensors"
        whole = weights.read_bytes()
        weights.write_bytes(whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:])
        damaged = weft("train", "--resume", "--out", out, "--steps", "60")
        self.assert_fails(damaged, 1, "step-40/model.safetensors", "digest must be", "found", "remove")
        weights.write_bytes(whole)
        moments = out / "checkpoints/step-40/optimizer.safetensors"
        moments.write_bytes((out / "checkpoints/step-35/optimizer.safetensors").read_bytes())
        damaged = weft("train", "--resume", "--out", out, "--steps", "60")
        self.assert_fails(damaged, 1, "step-40/optimizer.safetensors", "digest must be", "found", "remove")

    def test_a_junk_line_of_the_metrics_blocks_nothing(self):
        out = self.run_directory
        self.train("--steps", "4", "--eval-text", self.held_out, "--eval-every", "2", out=out)
        metrics = out / "metrics.jsonl"
        metrics.write_text("\x1b[31mjunk\n" + metrics.read_text() + "more\n")
        for arguments in (("info", out), ("report", out), ("compare", out, out)):
            process = weft(*arguments)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertIn("line 1", process.stderr)
            self.assertNotIn("\x1b", process.stderr)
        process = weft("train", "--resume", "--out", out, "--steps", "6")
        self.assertEqual(process.returncode, 0, process.stderr)

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

        process = weft(*self.train_arguments(self.folder / "full", "--steps", "2"), preexec_fn=limit)
        self.assert_fails(process, 1, "File too large")
        self.assertFalse((self.folder / "full").exists())
        self.assertEqual(sorted(os.listdir(self.folder)), ["held-out.txt", "run", "train.txt"])


if __name__ == "__main__":
    unittest.main()
