# SPDX-License-Identifier: Apache-2.0
"""Several processes: the losses of one with a larger batch, one that dies or fails, and going on with another number of them."""

import pathlib
import signal
import socket
import subprocess
import time
import unittest

from weft_program import Case, begin_weft, environment, free_port, has_reached, losses, weft, weft_json

STEPS = 20


class ProcessesTest(Case):
    def arguments(self, out, batch, *more):
        return self.train_arguments(out, "--batch-size", str(batch), "--seed", "3", *more)

    def assert_close(self, found, expected, tolerance):
        self.assertEqual([step for step, _ in found], [step for step, _ in expected])
        for (step, one), (_, other) in zip(found, expected):
            self.assertLess(abs(one - other), tolerance, f"step {step}")

    def test_two_have_the_losses_of_one_with_twice_the_batch(self):
        evaluation = ["--eval-text", self.held_out]
        one, two, parts = self.folder / "one", self.folder / "two", self.folder / "parts"
        whole = weft_json(*self.arguments(one, 8, "--steps", STEPS, *evaluation))
        self.together(self.arguments(two, 4, "--steps", STEPS, *evaluation))
        self.assert_close(losses(two), losses(one), 1e-5)
        shared = weft_json("eval", two, "--text", self.held_out, "--dtype", "float32")
        # Weights differ by rounding after 20 steps, and so does what they say of the text.
        self.assertLess(abs(shared["bits_per_byte"] - whole["evaluation"]["bits_per_byte"]), 1e-3)
        # Three batches over two processes: one has two of them.
        self.together(self.arguments(parts, 4, "--steps", STEPS, "--gradient-accumulation", "3", "--processes", "1"))
        alone = self.folder / "alone"
        self.train("--batch-size", "4", "--seed", "3", "--steps", STEPS, "--gradient-accumulation", "3", out=alone)
        self.assert_close(losses(parts), losses(alone), 1e-5)

    def test_spans_and_reversible_layers_learn_the_same_together(self):
        kinds = {"spans": ("--attention", "span(max=32, ramp=8)", "--span-loss", "1e-4", "--position-embedding", "alibi"),
                 "positions": ("--attention", "span(max=32, ramp=8, positions=shared)", "--position-embedding", "none"),
                 "reversible": ("--residual", "reversible", "--no-tie-word-embeddings", "--feed-forward-chunk", "20")}
        for kind, flags in kinds.items():
            one, two = self.folder / f"{kind}-one", self.folder / f"{kind}-two"
            self.train("--batch-size", "8", "--seed", "3", "--steps", "8", *flags, out=one)
            self.together(self.arguments(two, 4, "--steps", "8", *flags))
            self.assert_close(losses(two), losses(one), 1e-5)

    def test_one_that_dies_ends_the_others(self):
        for victim in (1, 0):
            self.stop_one_of_two(self.folder / f"killed-{victim}", victim, signal.SIGKILL)

    def test_a_run_goes_on_with_another_number(self):
        whole = self.folder / "whole"
        self.together(self.arguments(whole, 2, "--steps", "40"))
        out = self.folder / "changed"
        started = self.launch(self.arguments(out, 2, "--steps", "40", "--checkpoint-every", "5"))
        while not has_reached(out, 5) and started[0].poll() is None:
            time.sleep(0.002)
        for process in started:
            process.kill()
            process.communicate()
        self.assertEqual(weft("train", "--resume", "--out", out).returncode, 0)
        # Sums over processes and over parts round alike but in another order.
        self.assert_close(losses(out), losses(whole), 1e-4)
        too_many = self.launch(["train", "--resume", "--out", out], count=3)
        outputs = [process.communicate(timeout=100) for process in too_many]
        self.assertTrue(all(process.returncode == 1 for process in too_many))
        self.assertIn("at most so many processes", outputs[0][1])

    def test_one_that_fails_says_so_to_all(self):
        self.run_directory.mkdir()
        (self.run_directory / "file").write_text("x")
        started = self.launch(self.arguments(self.run_directory, 2, "--steps", "5"))
        outputs = [process.communicate(timeout=100) for process in started]
        self.assertEqual([process.returncode for process in started], [1, 1])
        self.assertIn("not an empty folder", outputs[0][1])
        self.assertIn("process 0 of 2", outputs[1][1])
        self.assertIn("not an empty folder", outputs[1][1])

    def test_the_environment_is_checked(self):
        process = weft(*self.arguments(self.run_directory, 2, "--steps", "5"), env=environment(RANK="5", WORLD_SIZE="2"))
        self.assert_fails(process, 1, "RANK", "'5'")

    def begin(self, rank, size, port, **extra):
        variables = {"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                     "GLOO_SOCKET_IFNAME": "lo", **extra}
        arguments = self.arguments(self.run_directory, 2, "--steps", "5")
        process = begin_weft(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**variables))
        self.addCleanup(process.kill)
        return process

    def assert_one_line(self, process, stderr, *parts):
        """One error without control characters or the functions that were on the stack."""
        self.assertEqual(process.returncode, 1, stderr)
        errors = [line for line in stderr.splitlines() if line.startswith("weft: error: ")]
        self.assertEqual(len(errors), 1, stderr)
        self.assertNotIn("frame #", stderr)
        self.assertNotIn(".cpp", stderr)
        for part in parts:
            self.assertIn(part, errors[0])

    def test_settings_that_cannot_be_meant_are_found_at_once(self):
        # None of these waits for another process: nobody else comes.
        for variables, parts in (({"WORLD_SIZE": "1048576"}, ["WORLD_SIZE", "4096", "'1048576'"]),
                                 ({"GLOO_SOCKET_IFNAME": "nope0"}, ["GLOO_SOCKET_IFNAME", "lo", "'nope0'"]),
                                 ({"MASTER_ADDR": "192.0.2.1"}, ["192.0.2.1", "cannot listen"])):
            process = self.begin(0, 2, free_port(), **variables)
            self.assert_one_line(process, process.communicate(timeout=100)[1], *parts)
        for name, other in (("RANK", "WORLD_SIZE"), ("WORLD_SIZE", "RANK")):
            process = weft(*self.arguments(self.run_directory, 2, "--steps", "5"), env=environment(**{name: "1"}))
            self.assert_fails(process, 1, f"{name} is set", other)

    def test_sizes_that_differ_are_found_at_once(self):
        port = free_port()
        started = [self.begin(0, 2, port), self.begin(1, 3, port)]
        outputs = [process.communicate(timeout=100)[1] for process in started]
        for process, stderr in zip(started, outputs):
            self.assert_one_line(process, stderr, "WORLD_SIZE", "process 0 was told 2", "process 1 was told 3")

    def begin_differing(self, **changed):
        """Two processes of which the second has other values of some flags."""
        port, out = free_port(), self.folder / "differing"
        for rank in range(2):
            arguments = self.arguments(out, 2, "--steps", "5", "--eval-text", self.held_out)
            for name, value in changed.items() if rank == 1 else ():
                flag = "--" + name.replace("_", "-")
                if flag in arguments:
                    arguments[arguments.index(flag) + 1] = value
                else:
                    arguments += [flag, value]
            variables = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                         "GLOO_SOCKET_IFNAME": "lo"}
            process = begin_weft(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**variables))
            self.addCleanup(process.kill)
            yield process

    def test_what_differs_is_named_before_anything_is_trained(self):
        text = bytearray(pathlib.Path(self.train_text).read_bytes())
        same, other = self.folder / "same.txt", self.folder / "other.txt"
        same.write_bytes(text)
        text[len(text) // 2] ^= 1
        other.write_bytes(text)
        for changed, part in (
            ({"learning_rate": 0.01}, "process 1 trains with --learning-rate 0.01, process 0 without"),
            ({"clip_norm": 2, "steps": 6}, "process 1 trains with --steps 6, process 0 with 5; process 1 trains with --clip-norm 2.0"),
            ({"train_text": other}, "process 1 trains with training data (content) "),
            ({"eval_text": other}, "process 1 trains with the content of --eval-text "),
        ):
            for process in list(self.begin_differing(**changed)):
                self.assert_one_line(process, process.communicate(timeout=100)[1], part)
        self.assertFalse((self.folder / "differing").exists())
        for process in list(self.begin_differing(train_text=same, threads=2)):
            self.assertEqual((process.communicate(timeout=100), process.returncode)[1], 0)

    def test_a_process_listens_where_it_was_told(self):
        port = free_port()
        process = self.begin(0, 2, port)
        bound = time.monotonic() + 100
        while process.poll() is None and time.monotonic() < bound:
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.01)
        with socket.socket() as client:
            self.assertNotEqual(client.connect_ex(("127.0.0.2", port)), 0, "nobody asked for this address")
        with socket.socket() as client:
            self.assertEqual(client.connect_ex(("127.0.0.1", port)), 0)
        process.kill()
        process.communicate()


if __name__ == "__main__":
    unittest.main()
