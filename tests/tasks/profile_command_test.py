# SPDX-License-Identifier: Apache-2.0
"""`weft profile`: every kind of model, shards, a run that was stopped, and what is refused."""

import json
import pathlib
import signal
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from encoder_program import make_model, read_safetensors, results  # noqa: E402
from sequence_tasks_test import make_marian  # noqa: E402
from weft_program import BINARY, Case, environment, weft, weft_json  # noqa: E402


def profile_of(path):
    """({name: numbers}, what the metadata say)"""
    tensors, metadata = read_safetensors(path)
    numbers = {name: struct.unpack(f"<{len(data) // 8}q", data) for name, (_, data) in tensors.items()}
    return numbers, json.loads(metadata["weft_profile"])


class ProfileTest(Case):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "profile.safetensors"

    def profile(self, *arguments, out=None):
        return weft_json("profile", *arguments, "--out", out or self.out, "--threads", "1")

    def test_decoder(self):
        self.train("--steps", "2")
        whole = self.profile(self.run_directory, "--text", self.held_out, "--batch-tokens", "256")
        self.assertEqual(whole["tokens"], self.held_out.stat().st_size)
        self.assertEqual([part["name"] for part in whole["parts"]], ["layers.0.self", "layers.1.self"])
        self.assertTrue(all(part["rows"] == whole["tokens"] and part["edges"] for part in whole["parts"]))
        tensors, about = profile_of(self.out)
        self.assertEqual(about["model"]["kind"], "decoder")
        self.assertEqual(sum(tensors["layers.1.self.rows"]), 2 * whole["tokens"])
        mass = sum(tensors["layers.0.self.tile_mass"]) * 2.0**-36
        self.assertAlmostEqual(mass, 2 * whole["tokens"], places=3)
        text = weft("profile", self.run_directory, "--text", self.held_out, "--max-bytes", "300", "--edges", "0", "--out", self.folder / "short")
        self.assertEqual(text.returncode, 0, text.stderr)
        self.assertIn("300", text.stdout)
        self.assertNotIn("layers.0.self.edge_mass", profile_of(self.folder / "short")[0])

        shards = []
        for shard in range(2):
            shards.append(self.folder / f"shard{shard}")
            self.profile(self.run_directory, "--text", self.held_out, "--batch-tokens", "256", "--shard", f"{shard}/2", out=shards[-1])
        merged = weft_json("profile", "--merge", *reversed(shards), "--out", self.folder / "merged", "--png", self.folder / "heads.png")
        self.assertTrue((self.folder / "heads.png").read_bytes().startswith(b"\x89PNG"))
        self.assertEqual(merged["tokens"], whole["tokens"])
        self.assertEqual((self.folder / "merged").read_bytes(), self.out.read_bytes())
        self.assert_fails(weft("profile", "--merge", shards[0], "--out", self.out), 1, "shard 1 of 2 is missing")
        self.assert_fails(weft("profile", "--merge", shards[0], self.run_directory / "model.safetensors", "--out", self.out), 1, "no profile of attention")
        self.assert_fails(weft("profile", self.run_directory, "--merge", shards[0], "--out", self.out), 2, "--merge")

    def test_stopped_run_goes_on(self):
        self.train("--steps", "1")
        arguments = ["profile", self.run_directory, "--text", self.train_text, "--batch-tokens", "64", "--threads", "1", "--out"]
        self.assertEqual(weft(*arguments, self.out).returncode, 0)
        stopped = self.folder / "stopped"
        process = subprocess.Popen([BINARY, *map(str, [*arguments, stopped])], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=environment(WEFT_PROGRESS_SECONDS="0"))
        self.addCleanup(process.kill)
        line = process.stderr.readline()  # the first unit is done
        self.assertIn("profiling", line)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=100)
        if process.returncode == 130:  # it may have been faster
            self.assertIn("--resume", stderr)
            self.assertFalse(stopped.exists())
            partial = self.folder / "stopped.partial"
            self.assertFalse(profile_of(partial)[1]["progress"]["complete"])
            self.assert_fails(weft("profile", "--merge", partial, "--out", self.folder / "x"), 1, "--resume")
            self.assertEqual(weft(*arguments, stopped, "--resume").returncode, 0)
            self.assertFalse(partial.exists())
        self.assertEqual(stopped.read_bytes(), self.out.read_bytes())

    def test_encoders(self):
        directory = make_model(self.folder / "model", "longformer", "none")
        records = self.folder / "records.jsonl"
        lines = ["the loom weaves the thread", "hello", "she said the loom weaves twice, and we'll see"]
        records.write_text("".join(json.dumps({"review": line, "other": "we see"}) + "\n" for line in lines))
        found = self.profile(directory, "--data", records, "--text-field", "review")
        self.assertEqual((found["texts"], found["model"]), (3, "encoder"))
        self.assertTrue(all(part["rows"] == found["tokens"] for part in found["parts"]), found)
        self.assertEqual([part["name"] for part in found["parts"]], ["layers.0.self", "layers.1.self"])
        fewer = self.profile(directory, "--data", records, "--text-field", "review", "--examples", "2")
        self.assertLess(fewer["tokens"], found["tokens"])
        pairs = self.profile(directory, "--data", records, "--text-field", "review", "--pair-field", "other")
        self.assertGreater(pairs["tokens"], found["tokens"])
        windows = self.profile(directory, "--text", self.held_out)
        self.assertEqual(windows["parts"][0]["queries"], 62)

    def test_questions_are_read_in_the_windows_of_training(self):
        directory = make_model(self.folder / "model", "bert", "question-answering")
        context = "the loom weaves the thread and we see it twice " * 12
        answer = {"text": "loom", "answer_start": context.index("loom")}
        questions = [{"id": str(number), "question": text, "answers": [answer]} for number, text in enumerate(("what weaves", "who sees it and when"))]
        squad = self.folder / "squad.json"
        squad.write_text(json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": [{"context": context, "qas": questions}]}]}))
        document = self.folder / "document.txt"
        document.write_text(context)
        for stride in ([], ["--stride", 5]):
            found = self.profile(directory, "--data", squad, *stride)
            self.assertEqual((found["texts"], found["parts"][0]["queries"]), (2, 62))
            tokens = 0
            for question in questions:
                (read,) = results("answer", directory, "--question", question["question"], "--file", document, *stride)
                (asked,) = results("tokenize", directory, question["question"])
                windows, whole = read["metadata"]["windows"], read["metadata"]["tokens"]
                self.assertGreater(windows, 2)
                # Every window but the first has question, special tokens and the shared part anew.
                tokens += whole + (windows - 1) * (len(asked["result"][0]["input_ids"]) + 1 + (stride[1] if stride else 62 // 4))
            self.assertEqual(found["tokens"], tokens)
        forced = self.folder / "squad.txt"
        forced.write_bytes(squad.read_bytes())
        self.assertEqual(self.profile(directory, "--data", forced, "--format", "squad", "--examples", 1)["texts"], 1)
        self.assert_fails(weft("profile", directory, "--data", squad, "--text-field", "x", "--out", self.out), 1, "--text-field")

    def test_encoder_decoders(self):
        directory = make_marian(self.folder / "marian")
        for name, text in (("source", "der Webstuhl webt\nden Faden\n"), ("target", "the loom\nweaves the thread\n")):
            (self.folder / name).write_text(text)
        found = self.profile(directory, "--source", self.folder / "source", "--target", self.folder / "target")
        self.assertEqual((found["texts"], found["model"]), (2, "encoder-decoder"))
        names = [part["name"] for part in found["parts"]]
        self.assertIn("encoder.layers.0.self", names)
        self.assertIn("decoder.layers.0.self", names)
        self.assertIn("decoder.layers.0.cross", names)
        self.assert_fails(weft("profile", directory, "--text", self.held_out, "--out", self.out), 2, "an encoder-decoder", "--source")
        self.assert_fails(weft("profile", directory, "--source", self.folder / "source", "--out", self.out), 2, "--target")

    def assert_settings_are_compared(self, arguments, changes):
        """Shards with one of `changes` are not joined with one without, a stopped run does not go on with it, and all that is equal is one file."""
        shards = [self.folder / "shard0", self.folder / "shard1"]
        for shard, out in enumerate(shards):
            self.profile(*arguments, "--shard", f"{shard}/2", out=out)
        self.profile(*arguments)
        self.assertEqual(weft("profile", "--merge", *shards, "--out", self.folder / "merged").returncode, 0)
        self.assertEqual((self.folder / "merged").read_bytes(), self.out.read_bytes())
        for change in changes:
            self.profile(*arguments, *change, "--shard", "1/2", out=shards[1])
            self.assert_fails(weft("profile", "--merge", *shards, "--out", self.folder / "merged"), 1, "differ")
        # As a run leaves it that was stopped behind its last unit.
        partial = self.folder / "resumed.partial"
        for change in changes:
            partial.write_bytes(self.out.read_bytes())
            self.assert_fails(weft("profile", *arguments, *change, "--out", self.folder / "resumed", "--threads", 1, "--resume"), 1,
                              "resumed.partial", "other lengths or batches")
        self.assertEqual(weft("profile", *arguments, "--out", self.folder / "resumed", "--threads", 1, "--resume").returncode, 0)
        self.assertEqual((self.folder / "resumed").read_bytes(), self.out.read_bytes())

    def test_shards_and_stopped_runs_of_encoders_have_one_context_and_batch(self):
        directory = make_model(self.folder / "model", "bert", "none")
        records = self.folder / "records.jsonl"
        records.write_text("".join(json.dumps({"text": f"the loom weaves {count} threads", "pair": "we see"}) + "\n" for count in range(150)))
        self.assert_settings_are_compared([directory, "--data", records, "--text-field", "text"],
                                          [["--context", 20], ["--batch-size", 3], ["--batch-tokens", 64]])
        self.assert_settings_are_compared([directory, "--data", records, "--text-field", "text", "--pair-field", "pair"],
                                          [["--truncate"], ["--context", 40]])

    def test_shards_and_stopped_runs_of_pairs_have_one_context_and_batch(self):
        directory = make_marian(self.folder / "marian")
        for name, text in (("source", "der Webstuhl webt\n"), ("target", "the loom\n")):
            (self.folder / name).write_text(text * 130)
        self.assert_settings_are_compared([directory, "--source", self.folder / "source", "--target", self.folder / "target"],
                                          [["--context", 30], ["--truncate"], ["--batch-size", 5]])

    def test_what_is_refused(self):
        self.train("--steps", "1")
        text = ["--text", self.held_out]
        self.assert_fails(weft("profile", self.run_directory, *text), 2, "--out")
        self.assert_fails(weft("profile", "--out", self.out), 2, "directory of a model")
        self.assert_fails(weft("profile", self.run_directory, "--out", self.out), 2, "a decoder", "--text")
        self.assert_fails(weft("profile", self.run_directory, "--data", self.held_out, "--out", self.out), 2, "--text")
        for shard in ("2/2", "x", "1", "-1/2", "1/0"):
            self.assert_fails(weft("profile", self.run_directory, *text, "--out", self.out, f"--shard={shard}"), 2, "--shard")
        self.assert_fails(weft("profile", self.run_directory, *text, "--out", self.folder / "no" / "where"), 1, "where")
        self.assert_fails(weft("profile", self.folder / "nothing", *text, "--out", self.out), 1, "nothing")


if __name__ == "__main__":
    unittest.main()
