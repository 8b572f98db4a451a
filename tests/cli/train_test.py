# SPDX-License-Identifier: Apache-2.0
"""`weft train` end to end on a tiny model: what it says, what it leaves behind, what it refuses."""

import json
import os
import pathlib
import shutil
import unittest

from weft_program import Case, losses, weft, weft_json


class TrainTest(Case):
    def test_a_run_from_text_to_figures(self):
        found = weft_json(*self.train_arguments(self.run_directory, "--steps", "12", "--eval-text", self.held_out))
        self.assertEqual(found["steps"], 12)
        self.assertEqual(found["tokens"], 12 * 2 * 64)
        self.assertEqual(found["dtype"], "float32")
        self.assertEqual(found["evaluation"]["bytes"], self.held_out.stat().st_size - 1)
        self.assertTrue(0 < found["evaluation"]["bits_per_byte"] < 9)
        entries = [json.loads(line) for line in (self.run_directory / "metrics.jsonl").read_text().splitlines()]
        trained = [entry for entry in entries if "loss" in entry]
        self.assertEqual([entry["step"] for entry in trained], list(range(1, 13)))
        self.assertLess(trained[-1]["loss"], trained[0]["loss"])
        self.assertEqual(entries[-1]["eval"]["bits_per_byte"], found["evaluation"]["bits_per_byte"])
        for name in ("config.json", "model.safetensors", "training.json"):
            self.assertTrue((self.run_directory / name).is_file(), name)

    def test_it_says_first_what_is_computed(self):
        process = self.train("--steps", "1", "--eval-text", self.held_out)
        for part in ("decoder", "parameters", "causal & (window(left=8) | stride(8))", "density", "float32", "threads",
                     "2 windows of 64 tokens", "bytes in 1 file"):
            self.assertIn(part, process.stderr)
        self.assertIn("bits per byte", process.stdout)
        self.assertIn("tokens a second", process.stdout)

    def test_the_attention_of_a_decoder_is_cut_to_the_past(self):
        process = self.train("--steps", "1", "--attention", "window(8)", "--num-hidden-layers", "1")
        self.assertIn("causal & window(8)", process.stderr)

    def test_attention_for_each_layer(self):
        self.train("--steps", "1", "--attention", "full", "window(left=4)")
        layers = weft_json("info", self.run_directory)["attention"]
        self.assertEqual([entry["layers"] for entry in layers], [[0, 0], [1, 1]])

    def test_linear_attention(self):
        for kind in ((), ("--encoder",)):
            run = self.folder / ("linear" + "".join(kind))
            process = self.train("--steps", "8", "--attention", "linear", "--eval-text", self.held_out, *kind, out=run)
            self.assertIn("of full attention", process.stderr)
            (attention,) = weft_json("info", run)["attention"]
            self.assertEqual((attention["effective"], attention["density"]), ("linear", None))
            self.assertGreater(attention["flops"], 0)
            trained = [loss for _, loss in losses(run)]
            self.assertLess(trained[-1], trained[0])
        found = weft_json("generate", self.folder / "linear", "--prompt", "graph", "--max-new-tokens", "90", "--seed", "3")
        self.assertEqual(found["new_tokens"], 90)
        mixed = self.folder / "mixed"
        self.train("--steps", "2", "--attention", "linear", "window(8)", out=mixed)
        self.assertEqual(weft_json("generate", mixed, "--prompt", "graph", "--max-new-tokens", "9")["new_tokens"], 9)
        self.assert_fails(weft(*self.train_arguments(self.run_directory, "--steps", "1", "--attention", "linear", "--position-embedding", "alibi")),
                          2, "linear", "because it computes no scores")
        self.assertFalse(self.run_directory.exists())
        self.assert_fails(weft("eval", mixed, "--text", self.held_out, "--attention", "performer(features=8)"), 1,
                          "is missing: attention `performer(features=8)` learns it")

    def test_windows_longer_than_what_is_learned(self):
        for more in (["--position-embedding", "learned"], ["--encoder", "--attention", "linformer(rank=2)"]):
            self.assert_fails(weft(*self.train_arguments(self.run_directory, "--steps", "1", "--max-position-embeddings", "8", *more)), 2,
                              "--context must be at most 8")
            self.assertFalse(self.run_directory.exists())

    def test_hashed_attention(self):
        run, hashed = self.folder / "hashed", "lsh(causal=rank, window=8)"
        self.train("--steps", "8", "--attention", hashed, "window(8)", "--gradient-checkpointing", out=run)
        trained = [loss for _, loss in losses(run)]
        self.assertLess(trained[-1], trained[0])
        found = weft_json("generate", run, "--prompt", "graph", "--max-new-tokens", "90", "--seed", "3")
        self.assertEqual(found["new_tokens"], 90)

        def bits(*arguments):
            return weft_json("eval", run, "--text", self.held_out, "--max-bytes", "500", *arguments)["bits_per_byte"]

        self.assertEqual(bits(), bits("--attention", hashed, "window(8)"))
        self.assertNotEqual(bits(), bits("--attention", "lsh(causal=rank, window=8, rounds=6)", "window(8)"))
        other = weft("eval", run, "--text", self.held_out, "--attention", "window(8)")
        self.assert_fails(other, 1, "layers.0.attention")
        self.train("--steps", "2", "--attention", "lsh(chunk=8)", "--encoder", out=self.folder / "encoder")
        refused = weft(*self.train_arguments(self.run_directory, "--steps", "1", "--attention", "lsh"))
        self.assert_fails(refused, 2, "decoder", "lsh(causal=rank)")

    def test_equal_seeds_give_equal_runs(self):
        for name in ("one", "two"):
            self.train("--steps", "4", "--seed", "7", out=self.folder / name)
        self.train("--steps", "4", "--seed", "8", out=self.folder / "three")
        weights = [(self.folder / name / "model.safetensors").read_bytes() for name in ("one", "two", "three")]
        self.assertEqual(weights[0], weights[1])
        self.assertNotEqual(weights[0], weights[2])

    def test_by_minutes(self):
        found = weft_json(*self.train_arguments(self.run_directory, "--minutes", "0.02"))
        # One step more, as long as the others, would have ended later.
        self.assertGreater(found["seconds"] * (1 + 1 / found["steps"]), 1.2)
        # Many times what a busy machine takes for a step; without the limit the run would never end.
        self.assertLess(found["seconds"], 100)
        self.assertGreater(found["steps"], 0)

    def test_bfloat16(self):
        found = weft_json(*self.train_arguments(self.run_directory, "--steps", "2", "--dtype", "bfloat16"))
        self.assertEqual(found["dtype"], "bfloat16")

    def test_whoever_reads_a_run_computes_as_it_learned(self):
        """Whatever this processor is fast at: one model has one figure."""
        for dtype, other, kind in (("float32", "bfloat16", ()), ("bfloat16", "float32", ("--encoder",)), ("bfloat16", "float32", ())):
            run = self.folder / (dtype + "".join(kind))
            more = ["--steps", "2", "--dtype", dtype, "--eval-text", self.held_out, "--eval-every", "2", "--best-metric", "loss" if kind else "bits_per_byte"]
            figure = "loss" if kind else "bits_per_byte"
            said = weft_json(*self.train_arguments(run, *more, *kind))["evaluation"][figure]
            for directory in (run, run / "best") if not kind else (run,):
                again = weft_json("eval", directory, "--text", self.held_out, "--context", "64")
                self.assertEqual((again["dtype"], again[figure]), (dtype, said))
            self.assertNotEqual(weft_json("eval", run, "--text", self.held_out, "--context", "64", "--dtype", other)[figure], said)
        for command in (["generate", run, "--prompt", "graph", "--max-new-tokens", "70"],
                        ["profile", run, "--text", self.held_out, "--out", self.folder / "profile.safetensors"],
                        ["attention", run, "graph token", "--out", self.folder / "page.html"]):
            self.assertEqual(weft_json(*command)["dtype"], "bfloat16")
            self.assertEqual(weft_json(*command, "--dtype", "float32")["dtype"], "float32")
        self.assertIn("bfloat16", weft("info", run).stdout)

    def test_an_encoder(self):
        found = weft_json(*self.train_arguments(self.run_directory, "--steps", "2", "--encoder"))
        self.assertEqual(found["steps"], 2)
        self.assertEqual(weft_json("info", self.run_directory)["kind"], "encoder")
        self.assert_fails(weft("generate", self.run_directory, "--prompt", "a"), 1, str(self.run_directory), "holds an encoder, which continues no prompt")
        scored = weft_json("eval", self.run_directory, "--text", self.held_out, "--mask-probability", "0.3", "--seed", "4")
        self.assertEqual(scored, weft_json("eval", self.run_directory, "--task", "mlm", "--text", self.held_out, "--mask-probability", "0.3",
                                           "--seed", "4") | {"seconds": scored["seconds"]})
        self.assertGreater(scored["masked_tokens"], 0)
        self.assertTrue(0 <= scored["masked_accuracy"] <= 1)
        self.assert_fails(weft("eval", self.run_directory, "--task", "lm", "--text", self.held_out), 1, "--task mlm", "found --task lm")

    def test_a_config_file_and_flags_that_win(self):
        config = self.folder / "config.json"
        config.write_text(json.dumps({"train_text": str(self.train_text), "context": 32, "steps": 3, "hidden_size": 32,
                                      "num_hidden_layers": 1, "num_attention_heads": 2, "attention": "window(left=4)"}))
        found = weft_json("train", "--config", config, "--steps", "2", "--out", self.run_directory)
        self.assertEqual(found["steps"], 2)
        self.assertEqual(found["tokens"], 2 * 8 * 32)
        described = weft_json("info", self.run_directory)
        self.assertEqual((described["layers"], described["positions"]), (1, 32))
        again = weft_json("train", "--config", self.run_directory / "training.json", "--out", self.folder / "again",
                          "--layers", "1", "--width", "32", "--heads", "2")
        self.assertEqual(again["steps"], 2)


class RefusalTest(Case):
    def test_what_a_run_needs(self):
        self.assert_fails(weft("train", "--train-text", self.train_text), 2, "--out")
        self.assert_fails(weft("train", "--out", self.run_directory, "--steps", "1"), 2, "--train-text must name a file or folder")
        self.assert_fails(weft("train", "--out", self.run_directory, "--train-text", self.train_text), 2, "--steps", "--minutes")

    def test_nothing_is_left_where_nothing_began(self):
        weft("train", "--out", self.run_directory, "--train-text", self.folder / "no.txt", "--steps", "1")
        weft(*self.train_arguments(self.run_directory, "--steps", "1", "--attention", "windw(3)"))
        self.assertFalse(self.run_directory.exists())

    def test_numbers_that_no_run_can_have(self):
        for flag, value in (("--batch-size", "4611686018427387904"), ("--gradient-accumulation", "9223372036854775807"),
                            ("--context", "4611686018427387904"), ("--steps", "9223372036854775807")):
            wrong = weft(*self.train_arguments(self.run_directory, "--steps", "2", flag, value))
            self.assert_fails(wrong, 2, flag, "at most", value)
        product = weft(*self.train_arguments(self.run_directory, "--steps", "2", "--batch-size", "1048576",
                                             "--gradient-accumulation", "1048576"))
        self.assert_fails(product, 2, "--batch-size times --gradient-accumulation", "at most")
        self.train("--steps", "2")
        settings = self.run_directory / "training.json"
        settings.write_text(json.dumps({**json.loads(settings.read_text()), "gradient_accumulation": 2**63 - 1}))
        self.assert_fails(weft("train", "--resume", "--out", self.run_directory), 1, "training.json",
                          "gradient_accumulation must be at most 1048576")

    def test_what_can_be_known_is_refused_before_the_training(self):
        evaluation = ["--steps", "2", "--eval-text", self.held_out]
        wrong = weft(*self.train_arguments(self.run_directory, *evaluation, "--best-metric", "bits_per_bite"))
        self.assert_fails(wrong, 2, "--best-metric", "'bits_per_bite'", "did you mean 'bits_per_byte'?")
        unmeasured = weft(*self.train_arguments(self.run_directory, "--steps", "2", "--best-metric", "loss"))
        self.assert_fails(unmeasured, 2, "--best-metric", "without held-out data")
        (self.folder / "short.txt").write_text("x")
        short = weft(*self.train_arguments(self.run_directory, "--steps", "2", "--eval-text", self.folder / "short.txt"))
        self.assert_fails(short, 2, "--eval-text", "at least 2 tokens", "found 1")
        below = weft(*self.train_arguments(self.train_text / "run", "--steps", "2"))
        self.assert_fails(below, 1, "is not a folder")
        self.assertNotIn("parameters", below.stderr, "nothing was announced")
        (self.run_directory / "seed-2").mkdir(parents=True)
        (self.run_directory / "seed-2/file").write_text("mine")
        taken = weft(*self.train_arguments(self.run_directory, "--steps", "2", "--seeds", "3"))
        self.assert_fails(taken, 1, "seed-2", "not an empty folder")
        self.assertEqual([path.name for path in self.run_directory.iterdir()], ["seed-2"], "no seed was trained")

    def test_text_that_is_not_there(self):
        missing = self.folder / "no.txt"
        process = weft("train", "--out", self.run_directory, "--train-text", missing, "--steps", "1")
        self.assertEqual(process.returncode, 1)
        self.assertIn("no.txt", process.stderr)

    def test_a_directory_that_is_taken(self):
        self.train("--steps", "1")
        process = weft(*self.train_arguments(self.run_directory, "--steps", "1"))
        self.assert_fails(process, 1, str(self.run_directory))

    def test_shapes_that_do_not_fit(self):
        process = weft("train", "--train-text", self.train_text, "--out", self.run_directory, "--steps", "1", "--width", "30",
                       "--heads", "4")
        self.assert_fails(process, 2, "--width 30", "--heads 4")
        process = weft(*self.train_arguments(self.run_directory, "--steps", "1", "--attention", "full", "full", "full"))
        self.assert_fails(process, 2, "--attention")

    def test_a_pattern_over_positions_that_plain_text_does_not_name(self):
        process = weft(*self.train_arguments(self.run_directory, "--steps", "1", "--attention", "window(8) | global(input)"))
        self.assert_fails(process, 1, "--attention of layer 0", "`window(8) | global(input)`", "global(first=1)")
        self.assertFalse(self.run_directory.exists())

    def test_fields_of_a_config_file_that_the_task_does_not_read(self):
        config = self.folder / "config.json"
        shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "context": 16, "steps": 1, "batch_size": 1,
                 "train_text": [str(self.train_text)]}
        for fields, words in (({"epochs": 7}, ["epochs is for fine-tuning, and not for --task lm"]), ({"train_data": ["x"]}, ["train_data"]),
                              ({"noise": "infill"}, ["noise is for denoise"]), ({"decoder_vocab_size": 5}, ["decoder_vocab_size"]),
                              ({"model": "x"}, ["hidden_size is for a new model"]), ({"loss": "cosine"}, ["loss is for embed and rerank"]),
                              ({"task": "classify"}, ["is for lm and mlm, and not for --task classify"]),
                              ({"is_decoder": False, "task": "lm"}, ["is_decoder false is for --task mlm"]),
                              ({"is_decoder": True, "task": "mlm"}, ["is_decoder true is for --task lm"])):
            config.write_text(json.dumps(shape | fields))
            self.assert_fails(weft("train", "--config", config, "--out", self.run_directory), 1, f"'{config}'", *words)
            self.assertFalse(self.run_directory.exists())
        config.write_text(json.dumps(shape | {"is_decoder": False}))
        encoder = weft("train", "--config", config, "--out", self.run_directory)
        self.assertIn("weft encoder", encoder.stderr)

    def test_unknown_fields_of_a_config_file(self):
        config = self.folder / "config.json"
        config.write_text('{"contxt": 5}')
        process = weft("train", "--config", config, "--out", self.run_directory)
        self.assert_fails(process, 1, "contxt", "context", str(config))
        config.write_text('{"context": "long"}')
        self.assert_fails(weft("train", "--config", config, "--out", self.run_directory), 1, f"{config}': context must be")

    def test_a_task_that_contradicts_the_files(self):
        config = self.folder / "config.json"
        config.write_text('{"task": "clasify"}')
        self.assert_fails(weft(*self.train_arguments(self.run_directory, "--config", config)), 1, "clasify", "classify")
        config.write_text('{"model": ["dir"]}')
        self.assert_fails(weft(*self.train_arguments(self.run_directory, "--config", config)), 1, "model must be a string")
        process = weft(*self.train_arguments(self.run_directory, "--task", "lm", "--encoder"))
        self.assert_fails(process, 2, "--encoder", "the task is lm")
        self.train("--steps", "1")
        for asked in (("--encoder",), ("--task", "mlm")):
            process = weft("train", "--resume", "--out", self.run_directory, "--steps", "2", *asked)
            self.assert_fails(process, 2, asked[0], "learns lm")
        config.write_text('{"learning_rate": "x"}')  # the mistake is the config file's, not that of the run's settings
        self.assert_fails(weft("train", "--resume", "--out", self.run_directory, "--config", config), 1, f"{config}")

    def test_a_tokenizer_json_is_the_vocabulary(self):
        tokenizer = pathlib.Path(os.environ["WEFT_TEST_DATA_DIR"]) / "tokenizers/json/tokenizer.json"
        found = weft_json(*self.train_arguments(self.run_directory, "--steps", "2", "--eval-text", self.held_out, "--tokenizer", tokenizer))
        self.assertTrue(0 < found["evaluation"]["bits_per_byte"] < 20)
        config = json.loads((self.run_directory / "config.json").read_text())
        self.assertEqual((config["tokenizer_class"], config["vocab_size"]), ("huggingface", 320))
        self.assertEqual((self.run_directory / "tokenizer.json").read_bytes(), tokenizer.read_bytes())
        self.assertTrue(weft("generate", self.run_directory, "--prompt", "to be", "--max-new-tokens", "3").stdout)

    def test_tokenizer_and_resume_exclude_each_other(self):
        self.train("--steps", "1")
        process = weft("train", "--resume", "--out", self.run_directory, "--tokenizer", "x.model")
        self.assert_fails(process, 2, "--tokenizer")


class GraphFromAFileTest(Case):
    """A graph named by the attention goes with the run, and is read there whatever the working directory is."""

    def test_the_run_needs_nothing_outside_itself(self):
        graphs = self.folder / "graphs"
        graphs.mkdir()
        edges = [(query, (query - 9) % 64) for query in range(64)]
        lines = [f"{query + 1} {key + 1}" for query, key in edges]
        (graphs / "far.mtx").write_text("\n".join(["%%MatrixMarket matrix coordinate pattern general", f"64 64 {len(edges)}", *lines]) + "\n")
        expression = 'causal & (window(left=4) | edges("graphs/far.mtx"))'
        done = weft(*self.train_arguments(self.run_directory, "--attention", expression, "--steps", "2"), cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        shutil.rmtree(graphs)
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        described = weft("info", self.run_directory, cwd=elsewhere)
        self.assertIn("graphs/far.mtx", described.stdout, described.stderr)
        resumed = weft("train", "--resume", "--out", self.run_directory, cwd=elsewhere)
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        evaluated = weft("eval", self.run_directory, "--text", self.held_out, "--context", "64", cwd=elsewhere)
        self.assertEqual(evaluated.returncode, 0, evaluated.stderr)
        mean = weft("average", self.run_directory, "--out", self.folder / "mean", cwd=elsewhere)
        self.assertEqual(mean.returncode, 0, mean.stderr)
        evaluated = weft("eval", self.folder / "mean", "--text", self.held_out, "--context", "64", cwd=elsewhere)
        self.assertEqual(evaluated.returncode, 0, evaluated.stderr)
        (self.run_directory / "graphs/far.mtx").unlink()
        missing = weft("eval", self.run_directory, "--text", self.held_out, cwd=elsewhere)
        self.assertEqual(missing.returncode, 1)
        self.assertIn("far.mtx", missing.stderr)


class SpansTest(Case):
    """Adaptive spans: training with their loss, what is logged and printed, and freezing them."""

    def test_spans_are_learned_printed_and_frozen(self):
        run = self.folder / "run"
        self.train("--steps", "6", "--attention", "span(max=40, ramp=4, init=8)", "window(4)", "--span-loss", "1e-4",
                   "--eval-text", self.held_out, out=run)
        entries = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        self.assertTrue(all(0 < entry["mean_span"] < 40 for entry in entries if "loss" in entry))
        evaluated = weft_json("eval", run, "--text", self.held_out, "--context", "64")
        ((layer, spans),) = [(entry["layer"], entry["spans"]) for entry in evaluated["spans"]]
        self.assertEqual((layer, len(spans)), (0, 2))
        self.assertIn("spans of layer 0", weft("eval", run, "--text", self.held_out).stdout)

        found = weft_json("pattern", "spans", run)
        self.assertEqual(found["layers"][0]["spans"], spans)
        self.assertRegex(found["attention"][0], r"window\(left=\d+\)")
        self.assertEqual(found["attention"][1], "window(4)")
        self.assertIn('"attention": ["', weft("pattern", "spans", run).stdout)

        frozen = self.folder / "frozen"
        made = weft_json("pattern", "spans", run, "--above", "0", "--out", frozen)
        self.assertEqual(json.loads((frozen / "config.json").read_text())["attention"], made["attention"])
        again = weft_json("eval", frozen, "--text", self.held_out, "--context", "64")
        self.assertNotIn("spans", again)
        self.assertAlmostEqual(again["bits_per_byte"], evaluated["bits_per_byte"], delta=0.2)
        self.assertEqual(weft_json("generate", run, "--prompt", "graph", "--max-new-tokens", "70")["new_tokens"], 70)

    def test_behind_a_memory(self):
        for positions, attention in (("alibi", "span(max=100, ramp=4, init=80)"),
                                     ("none", "span(max=100, ramp=4, init=80, positions=shared)")):
            run, frozen = self.folder / positions, self.folder / f"{positions}-frozen"
            self.train("--steps", "3", "--attention", attention, "--position-embedding", positions, "--memory", "64", out=run)

            def bits(directory):
                found = weft_json("eval", directory, "--text", self.held_out, "--context", "16", "--memory", "90")
                self.assertEqual(found["memory"], 90)
                return found["bits_per_byte"]

            made = weft_json("pattern", "spans", run, "--above", "0", "--out", frozen)
            self.assertRegex(made["layers"][0]["pattern"], r"window\(left=\d+\)")
            expected = r"span\(max=100, reaches=\d+/\d+, positions=shared\)" if positions == "none" else r"window\(left=\d+\)"
            self.assertRegex(made["attention"][0], expected)
            self.assertEqual(json.loads((frozen / "config.json").read_text())["memory_length"], 64)
            self.assertAlmostEqual(bits(frozen), bits(run), delta=0.05)  # the ramp's four distances count fully
            said = weft_json("generate", frozen, "--prompt", "graph", "--max-new-tokens", "150", "--seed", "3")
            self.assertEqual(said["new_tokens"], 150)
            further = weft("train", "--model", frozen, "--train-text", self.train_text, "--steps", "2", "--out", self.folder / f"{positions}-on")
            self.assertEqual(further.returncode, 0, further.stderr)

    def test_what_is_refused(self):
        for arguments, said in (
            (("--attention", "span"), ("span needs max", "span(max=1024)")),
            (("--attention", "window(8)", "--span-loss", "1e-6"), ("--span-loss", "no layer of the model learns spans")),
        ):
            process = weft(*self.train_arguments(self.folder / "no", "--steps", "1", *arguments))
            self.assertNotEqual(process.returncode, 0)
            for part in said:
                self.assertIn(part.replace("span needs", "`span` needs"), process.stderr)
        self.train("--steps", "1", out=self.folder / "run")
        self.assert_fails(weft("pattern", "spans", self.folder / "run"), 1, "no layer learns spans")


if __name__ == "__main__":
    unittest.main()
