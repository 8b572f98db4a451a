# SPDX-License-Identifier: Apache-2.0
"""Memory accounts of `weft serve`: counted from the files, shown in every place, and too much is refused before a weight is read."""

import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from encoder_program import make_model, read_safetensors, spoil  # noqa: E402
from sequence_tasks_test import make_marian  # noqa: E402
from serve_test import Server  # noqa: E402
from weft_program import BINARY, Case, environment, weft  # noqa: E402


def bytes_of_weights(directory):
    """Of the tensors in the file, which are float32."""
    return sum(len(data) for _, data in read_safetensors(directory / "model.safetensors")[0].values())


class ServeMemoryTest(Case):
    def serve(self, *arguments):
        server = Server(*arguments)
        self.addCleanup(server.end)
        return server

    def models(self):
        self.train("--steps", "1")
        return [make_model(self.folder / "labels", "bert", "sequence-classification"), make_marian(self.folder / "marian"), self.run_directory]

    def test_accounts(self):
        models = self.models()
        server = self.serve(*models, "--max-memory", "16G")
        listed = server.ask("GET", "/v1/models")[1]["data"]
        self.assertEqual(server.started["models"], listed)
        figures = server.ask("GET", "/metrics")[1]
        self.assertIn(f"weft_memory_limit_bytes {16 << 30}\n", figures)
        self.assertGreater(int(re.search(r"^process_resident_memory_bytes (\d+)$", figures, re.M).group(1)), 1 << 20)
        for model, entry in zip(models, listed):
            memory = entry["memory"]
            self.assertEqual(memory["weights"], bytes_of_weights(model))
            self.assertEqual(memory["total"], memory["weights"] + memory["packed"] + memory["work"])
            self.assertGreater(memory["work"], 0)
            for part in ("weights", "packed", "work"):
                self.assertIn(f'weft_model_memory_bytes{{model="{entry["id"]}",part="{part}"}} {memory[part]}\n', figures)
        self.assertIn("windows of up to 62", listed[0]["memory"]["how"])
        self.assertIn("2 beams", listed[1]["memory"]["how"])
        self.assertEqual(server.stop(), (0, ""))
        half = self.serve(models[0], "--dtype", "bfloat16", "--max-batch-texts", "1")
        (entry,) = half.ask("GET", "/v1/models")[1]["data"]
        self.assertEqual(entry["memory"]["weights"], bytes_of_weights(models[0]) // 2)
        self.assertLess(entry["memory"]["work"], listed[0]["memory"]["work"])

    def test_the_start_shows_them(self):
        model = make_model(self.folder / "labels", "bert", "sequence-classification")
        process = subprocess.Popen([BINARY, "serve", str(model), "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        self.assertRegex(process.stdout.readline(), "^listening on http://127.0.0.1:[0-9]+$")
        self.assertRegex(process.stdout.readline(), r"^  labels: up to [0-9.]+ [KM]iB of memory: weights .*, work .* \(a batch of .* tokens")
        process.terminate()
        process.communicate(timeout=600)

    def test_too_much_is_refused_before_it_is_loaded(self):
        """The weights of one model are not finite, which loading would tell."""
        labels, marian = make_model(self.folder / "labels", "bert", "sequence-classification"), make_marian(self.folder / "marian")
        spoil(labels / "model.safetensors", "word_embeddings.weight", float("nan"))
        self.assert_fails(weft("serve", labels, "--check-tensors", "--max-memory", "16G"), 1, "NaN")
        self.assert_fails(weft("serve", labels, "--check-tensors", "--max-memory", "1M"), 1, "the model 'labels' needs up to", "--max-memory is 1.0 MiB", "--max-batch-texts")
        # The first model has room, and the second, which reads texts as long as a body, has not.
        config = json.loads((labels / "config.json").read_text())
        (labels / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 1 << 24}))
        self.assert_fails(weft("serve", marian, labels, "--check-tensors", "--max-memory", "1500M"), 1, "the model 'labels' needs up to 2.", "of the program and the models before it",
                          "windows of up to 2,097,152", "--max-memory is 1.5 GiB")
        for size in ("0", "-1", "8X", "G", "1e400", "", "8 G", "nan"):
            self.assert_fails(weft("serve", marian, "--max-memory", size), 2, "--max-memory must be an amount")

    def test_what_no_machine_holds(self):
        """Without a limit the machine's memory is one: for weights, which are certain."""
        model = make_model(self.folder / "labels", "bert", "sequence-classification")
        file = model / "model.safetensors"
        content = file.read_bytes()
        (length,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8:8 + length])
        end = len(content) - 8 - length
        more = 1 << 42  # 4 TiB that are not written
        header["much"] = {"dtype": "F32", "shape": [more // 4], "data_offsets": [end, end + more]}
        text = json.dumps(header).encode()
        file.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length:])
        try:
            os.truncate(file, 8 + len(text) + end + more)
        except OSError:
            self.skipTest("this file system has no files of 4 TiB")
        self.assert_fails(weft("serve", model), 1, "the model 'labels' has 4.0 TiB of weights", "this machine has")


if __name__ == "__main__":
    unittest.main()
