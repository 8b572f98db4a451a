# SPDX-License-Identifier: Apache-2.0
"""Positions that a model learns, from the command line: training, checkpoints, evaluation, generation."""

import json
import math
import pathlib
import shutil
import struct
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from weft_program import TINY, Case, losses, weft, weft_json  # noqa: E402


def float_tensors(directory):
    """The numbers of each float32 tensor of a model directory, by name."""
    data = (pathlib.Path(directory) / "model.safetensors").read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    found = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        found[name] = struct.unpack_from(f"<{(end - begin) // 4}f", data, 8 + length + begin)
    return found


class LearnedSlopesTest(Case):
    """`--position-embedding alibi --learned-slopes`, in decoders and encoders."""

    ALIBI = ["--position-embedding", "alibi", "--learned-slopes"]

    def test_they_are_trained_saved_and_resumed_to_the_same_bits(self):
        for kind, names in (((), ["slopes"]), (("--encoder",), ["slopes", "slopes_behind"])):
            whole = self.folder / ("whole" + "".join(kind))
            arguments = [*self.ALIBI, "--attention", "window(20)", "span(max=40, ramp=4, init=8)", "--learning-rate", "0.01",
                         "--gradient-checkpointing", "--steps", "40", "--checkpoint-every", "5", "--eval-text", self.held_out, *kind]
            self.train(*arguments, out=whole)
            trained = float_tensors(whole)
            for layer in (0, 1):
                for name in names:
                    slopes = trained[f"layers.{layer}.attention.mechanism.{name}"]
                    for slope, first in zip(slopes, (2**-4, 2**-8)):
                        self.assertNotEqual(slope, first)
                        self.assertLess(abs(slope - first), 0.4, "a step moves a number by at most about the learning rate")
            if not kind:
                said = json.loads((whole / "metrics.jsonl").read_text().splitlines()[-1])["eval"]
                again = weft_json("eval", whole, "--text", self.held_out, "--context", "64")
                # No table of earlier slopes was kept during the training.
                self.assertAlmostEqual(again["bits_per_byte"], said["bits_per_byte"], delta=1e-5)

            shutil.rmtree(self.run_directory, ignore_errors=True)
            self.kill_at(self.train_arguments(self.run_directory, *arguments), 5)
            self.assertEqual(weft("train", "--resume", "--out", self.run_directory).returncode, 0)
            self.assertEqual(losses(self.run_directory), losses(whole))
            self.assertEqual((self.run_directory / "model.safetensors").read_bytes(), (whole / "model.safetensors").read_bytes())

    def test_generation_goes_on_behind_a_state(self):
        self.train(*self.ALIBI, "--attention", "strided(8)", "--steps", "4", "--learning-rate", "0.01")
        found = weft_json("generate", self.run_directory, "--prompt", "graph", "--max-new-tokens", "90", "--seed", "3")
        self.assertEqual(found["new_tokens"], 90)

    def test_directories_from_before_they_were_there_still_open(self):
        self.train("--position-embedding", "alibi", "--steps", "2")
        config = json.loads((self.run_directory / "config.json").read_text())
        del config["learned_slopes"]
        (self.run_directory / "config.json").write_text(json.dumps(config))
        self.assertGreater(weft_json("eval", self.run_directory, "--text", self.held_out)["bits_per_byte"], 0)

    def test_they_are_those_of_alibi(self):
        refused = weft(*self.train_arguments(self.run_directory, "--steps", "1", "--learned-slopes"))
        self.assert_fails(refused, 2, "--learned-slopes", "alibi", "rotary")


class StridePositionsTest(Case):
    """`--position-embedding stride`: learned rows and columns of texts and sound, as Sparse Transformers have them."""

    def test_of_text(self):
        self.train("--attention", "strided(8)", "--position-embedding", "stride", "--position-stride", "8", "--steps", "6", "--initialization",
                   "fan_in", "--no-tie-word-embeddings", "--eval-text", self.held_out)
        tables = float_tensors(self.run_directory)
        self.assertEqual(len(tables["embeddings.stride_positions.rows"]), 8 * 32)
        self.assertEqual(len(tables["embeddings.stride_positions.columns"]), 8 * 32)
        config = json.loads((self.run_directory / "config.json").read_text())
        self.assertEqual((config["position_embedding"], config["position_stride"]), ("stride", 8))
        found = weft_json("generate", self.run_directory, "--prompt", "graph", "--max-new-tokens", "50", "--seed", "3")
        self.assertEqual(found["new_tokens"], 50)
        self.assert_fails(weft("generate", self.run_directory, "--prompt", "graph", "--max-new-tokens", "90"), 2, "64 positions")

    def test_of_sound(self):
        sound = self.folder / "sound.wav"
        samples = bytes(128 + int(100 * math.sin(i / 5)) for i in range(2000))
        sound.write_bytes(b"RIFF" + struct.pack("<I", 36 + len(samples)) + b"WAVEfmt " +
                          struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8) + b"data" + struct.pack("<I", len(samples)) + samples)
        run = self.folder / "sound"
        done = weft("train", "--train-audio", sound, "--eval-audio", sound, *TINY, "--attention", "strided(16)", "--position-embedding",
                    "stride", "--position-stride", "16", "--steps", "2", "--out", run)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(float_tensors(run)["embeddings.stride_positions.rows"]), 4 * 32)
        self.assertGreater(weft_json("eval", run, "--audio", sound)["bits_per_byte"], 0)

    def test_fields_fit_together(self):
        refused = weft(*self.train_arguments(self.run_directory, "--steps", "1", "--position-stride", "8"))
        self.assert_fails(refused, 2, "--position-stride", "rotary")


if __name__ == "__main__":
    unittest.main()
