# SPDX-License-Identifier: Apache-2.0
"""Training with tensors in a file: more than a limit of memory holds, to the same bits."""

import json
import pathlib
import resource
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from weft_program import Case, losses, weft, weft_json  # noqa: E402

# 14 million parameters: with gradients and both moments 226 MB.
LARGE = ["--width", "768", "--heads", "8", "--layers", "2", "--context", "32", "--batch-size", "1", "--steps", "2", "--tie-word-embeddings"]
# 0.6 million parameters, with gradients and both moments 10 MB, but 16,384 tokens: each stream of a layer has 8 MB, its feed-forward 32 MB.
LONG = ["--width", "128", "--heads", "2", "--layers", "4", "--context", "16384", "--batch-size", "1", "--steps", "2", "--attention", "window(64)",
        "--residual", "reversible", "--threads", "1"]


def limited(megabytes):
    """RLIMIT_DATA counts what a process may write and what lies in no file."""
    limit = megabytes << 20
    return lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


class OffloadTest(Case):
    def least_limit(self):
        """In steps of 64 MB, what a tiny model needs: libraries, stacks and all."""
        for megabytes in range(128, 4097, 64):
            out = self.folder / f"tiny-{megabytes}"
            if weft(*self.train_arguments(out, "--steps", "1"), preexec_fn=limited(megabytes)).returncode == 0:
                return megabytes
        raise AssertionError("a tiny model needs more than 4 GB")

    def test_a_model_larger_than_the_limit_trains_to_the_same_bits(self):
        limit = limited(self.least_limit() + 64)
        whole, refused, offloaded = (self.folder / name for name in ("whole", "refused", "offloaded"))
        self.assertEqual(weft(*self.train_arguments(whole, *LARGE)).returncode, 0)
        process = weft(*self.train_arguments(refused, *LARGE), preexec_fn=limit)
        self.assertEqual(process.returncode, 1, process.stderr)
        self.assertIn("memory", process.stderr)
        process = weft(*self.train_arguments(offloaded, *LARGE, "--offload", self.folder), preexec_fn=limit)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(losses(offloaded), losses(whole))
        self.assertEqual((offloaded / "model.safetensors").read_bytes(), (whole / "model.safetensors").read_bytes())

    def test_activations_of_a_long_text_lie_in_the_file_too(self):
        limit = limited(self.least_limit() + 64)
        whole, refused, offloaded = (self.folder / name for name in ("whole", "refused", "offloaded"))
        self.assertEqual(weft(*self.train_arguments(whole, *LONG)).returncode, 0)
        process = weft(*self.train_arguments(refused, *LONG), preexec_fn=limit)
        self.assertEqual(process.returncode, 1, process.stderr)
        self.assertIn("memory", process.stderr)
        process = weft(*self.train_arguments(offloaded, *LONG, "--offload", self.folder, "--json"), preexec_fn=limit)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(losses(offloaded), losses(whole))
        self.assertEqual((offloaded / "model.safetensors").read_bytes(), (whole / "model.safetensors").read_bytes())
        weights = 4 * (offloaded / "model.safetensors").stat().st_size  # with gradients and two moments
        self.assertGreater(json.loads(process.stdout)["offloaded_bytes"], 8 * weights)

    def test_what_cannot_be_offloaded_is_one_line(self):
        process = weft(*self.train_arguments(self.run_directory, "--steps", "1", "--offload", self.folder / "nothing"))
        self.assertEqual(process.returncode, 1)
        self.assertIn("nothing", process.stderr)
        def full_disk():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        process = weft(*self.train_arguments(self.run_directory, *LARGE, "--offload", self.folder), preexec_fn=full_disk)
        self.assertEqual(process.returncode, 1, process.stderr)
        self.assertIn("File too large", process.stderr)
        self.assertIn(str(self.folder), process.stderr)
        found = weft_json(*self.train_arguments(self.run_directory, "--steps", "1", "--offload", self.folder))
        self.assertEqual(found["offloaded_bytes"] % 4096, 0)


if __name__ == "__main__":
    unittest.main()
