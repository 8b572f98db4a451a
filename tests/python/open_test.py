#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weft_attention.open, train, profile and propose against the commands of the program: the same results to the last bit, the same errors."""
import json
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).resolve().parents[1] / "cli")]
if "WEFT_BINARY" in os.environ:
    sys.path.insert(0, str(pathlib.Path(os.environ["WEFT_BINARY"]).parent.parent / "python"))
os.environ.update(WEFT_CACHE_GB="0", XDG_CACHE_HOME="/nonexistent")

import cpu_torch  # noqa: F401, E402, I001
import numpy  # noqa: E402
import torch  # noqa: E402

import weft_attention as weft  # noqa: E402
from encoder_program import FIXTURES, make_model  # noqa: E402
from sequence_tasks_test import make_marian  # noqa: E402
from weft_program import TINY, Case, losses, weft as program, weft_json  # noqa: E402

SHARED = {}
TEXTS = ["the loom weaves the thread", "we see", "hello wörld 🧵, and we'll see the loom", ""]
LONG = " ".join(["the loom said hello"] * 40)
DECODER = FIXTURES / "earlier" / "decoder"
QUIET = {"max_new_tokens": 12, "temperature": 0.0}


def setUpModule():
    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts a job behind it has it ignored, and Python follows
    SHARED["folder"] = pathlib.Path(tempfile.mkdtemp(prefix="weft-open-"))


def tearDownModule():
    shutil.rmtree(SHARED["folder"], ignore_errors=True)


def directory(head, *more):
    """A tiny BERT, made once for the file."""
    if (head, more) not in SHARED:
        SHARED[head, more] = make_model(SHARED["folder"] / f"{head}{len(SHARED)}", "bert", head, *more)
    return SHARED[head, more]


def run(command, *arguments):
    """Every line that the command prints."""
    process = program(command, *arguments, "--threads", "1", "--json")
    if process.returncode != 0:
        raise AssertionError(process.stderr)
    return [json.loads(line) for line in process.stdout.splitlines()]


class OpenCase(Case):
    def assert_close(self, found, expected):
        """The same but for the last bits of numbers: another batch has products of other sizes."""
        if isinstance(expected, float):
            self.assertAlmostEqual(found, expected, delta=5e-6)
        elif isinstance(expected, (list, dict)):
            self.assertEqual((type(found), len(found)), (type(expected), len(expected)))
            for key in expected if isinstance(expected, dict) else range(len(expected)):
                self.assert_close(found[key], expected[key])
        else:
            self.assertEqual(found, expected)

    def check(self, found, command, model, *arguments):
        """What Python gave with metadata=True is what the command prints."""
        expected = run(command, model, *arguments)
        self.assertEqual(found, expected)
        return [one["result"] for one in expected]


class EncoderTest(OpenCase):
    def test_fill_mask(self):
        model, texts = directory("masked-lm"), ["the loom [MASK] .", "[MASK] hello [MASK]"]
        with weft.open(model) as opened:
            found = opened.fill_mask(texts, top_k=3, metadata=True)
            results = self.check(found, "fill-mask", model, *texts, "--top-k", "3")
            self.assert_close(opened.fill_mask(texts[0], top_k=3), results[0])
            self.assert_close(opened.fill_mask(texts, top_k=3, batch_size=1), results)
            found = opened.fill_mask(texts, targets=["loom", "we"], metadata=True)
            self.check(found, "fill-mask", model, *texts, "--targets", "loom", "we")

    def test_classify(self):
        model = directory("sequence-classification", "--labels", "bad", "good", "odd")
        opened = weft.open(model)
        results = self.check(opened.classify(TEXTS, metadata=True), "classify", model, *TEXTS)
        for size in (1, 3):
            self.assert_close(opened.classify(TEXTS, batch_size=size), results)
        self.assert_close([opened.classify(text) for text in TEXTS], results)
        pairs = self.folder / "pairs.tsv"
        pairs.write_text("we see\tthe loom\nhello\tworld\n")
        found = opened.classify([("we see", "the loom"), ("hello", "world")], top_k=0, metadata=True)
        expected = run("classify", model, "--pairs", "--file", pairs, "--top-k", "0")
        self.assertEqual(found, expected)
        self.assert_close(opened.classify(("hello", "world"), top_k=0), expected[1]["result"])
        self.assertEqual(opened.classify([]), [])

    def test_tag(self):
        model = directory("token-classification", "--labels", "O", "B-A", "I-A")
        texts = [*TEXTS, LONG]
        opened = weft.open(model)
        self.check(opened.tag(texts, metadata=True), "tag", model, *texts)
        found = opened.tag(texts, aggregation_strategy="simple", ignore_labels=[], stride=5, metadata=True)
        self.check(found, "tag", model, *texts, "--aggregation-strategy", "simple", "--ignore-labels", "", "--stride", "5")

    def test_answer_and_choose(self):
        model = directory("question-answering")
        opened = weft.open(model)
        found = opened.answer("who?", [TEXTS[0], LONG], metadata=True)
        results = self.check(found, "answer", model, "--question", "who?", TEXTS[0], LONG)
        self.assert_close(opened.answer("who?", LONG), results[1])
        self.assert_close(opened.answer(["who?", "who?"], LONG), [results[1]] * 2)
        found = opened.answer("who?", LONG, top_k=2, handle_impossible_answer=True, null_threshold=0.5, metadata=True)
        self.check([found], "answer", model, "--question", "who?", LONG, "--top-k", "2", "--handle-impossible-answer", "--null-threshold", "0.5")
        model = directory("multiple-choice")
        found = weft.open(model).choose("the loom", ["weaves", "we see"], metadata=True)
        self.check([found], "choose", model, "--prompt", "the loom", "--choice", "weaves", "--choice", "we see")

    def test_vectors(self):
        model = directory("none")
        opened = weft.open(model)
        texts = [*TEXTS[:3], LONG]
        found = opened.embed(texts, metadata=True)
        expected = run("embed", model, *texts)
        self.assertEqual([one["metadata"] for one in found], [one["metadata"] for one in expected])
        rows = numpy.array([one["result"] for one in expected], dtype=numpy.float32)
        embedded = opened.embed(texts)
        self.assertEqual((embedded.dtype, embedded.shape), (numpy.float32, (4, 32)))
        numpy.testing.assert_array_equal(embedded, rows)
        numpy.testing.assert_allclose(opened.embed(texts, batch_size=1), rows, atol=5e-6)
        numpy.testing.assert_allclose(opened.embed(texts[2]), rows[2], atol=5e-6)
        tensor = opened.embed(texts, torch=True)
        self.assertTrue(torch.equal(tensor, torch.from_numpy(rows)))
        self.assertEqual(opened.embed([]).shape, (0, 32))
        changed = numpy.array([one["result"] for one in run("embed", model, *texts, "--pooling", "cls,max", "--normalize", "--dimensions", "40")], dtype=numpy.float32)
        numpy.testing.assert_array_equal(opened.embed(texts, pooling="cls,max", normalize=True, dimensions=40), changed)
        numpy.testing.assert_array_equal(opened.embed(texts), rows)
        states = opened.encode(texts)
        self.assertEqual([state.shape for state in states], [(one["metadata"]["tokens"], 32) for one in expected])
        numpy.testing.assert_allclose(states[0].astype(numpy.float64).mean(0), rows[0], atol=1e-6)
        chunks = opened.chunks(LONG + ". We see.", "sentences")
        (listed,) = run("embed", model, LONG + ". We see.", "--chunks", "sentences")
        self.assertEqual([{**chunk, "embedding": None} for chunk in chunks], [{**chunk, "embedding": None} for chunk in listed["result"]])
        for chunk, expected in zip(chunks, listed["result"]):
            numpy.testing.assert_array_equal(chunk["embedding"], numpy.array(expected["embedding"], dtype=numpy.float32))

    def test_a_directory_of_sentence_transformers(self):
        model = shutil.copytree(FIXTURES / "sentence" / "transformer", self.folder / "sentence")
        shutil.copytree(FIXTURES / "sentence" / "prompt", model, dirs_exist_ok=True)
        opened = weft.open(model)
        for arguments, settings in (((), {}), (("--prompt", "we "), {"prompt": "we "})):
            expected = numpy.array([one["result"] for one in run("embed", model, *TEXTS[:3], *arguments)], dtype=numpy.float32)
            numpy.testing.assert_array_equal(opened.embed(TEXTS[:3], **settings), expected)

    def test_rerank_and_score(self):
        model = directory("sequence-classification", "--labels", "score")
        opened = weft.open(model)
        found = opened.rerank("we see", TEXTS[:3], top_k=2, return_text=True, metadata=True)
        self.check([found], "rerank", model, "we see", *TEXTS[:3], "--top-k", "2", "--return-text")
        scores = opened.score([("we see", text) for text in TEXTS[:3]])
        listed = {entry["index"]: entry["score"] for entry in opened.rerank("we see", TEXTS[:3])}
        self.assertEqual(scores.tolist(), [listed[index] for index in range(3)])
        self.assert_close(opened.score(("we see", TEXTS[1])), listed[1])
        self.assertEqual(opened.score([("we see", LONG)], windows=True).shape, (1,))

    def test_restore(self):
        text = "good morning mr holmes did you sleep well"
        with weft.open(pathlib.Path(__file__).resolve().parents[2] / "share" / "weft" / "models" / "restore") as opened:
            found = opened.restore([text], metadata=True)
            self.assertEqual(found, run("restore", text))
            self.assertEqual(found[0]["result"], opened.restore(text))
            self.assert_close(opened.tag(text), opened.tag([text])[0])

    def test_another_pattern_and_a_shorter_window(self):
        model = directory("sequence-classification", "--labels", "bad", "good", "odd")
        opened = weft.open(model, attention=weft.Pattern("window(4)"), max_length=16)
        found = opened.classify(LONG, truncate=True, metadata=True)
        self.check([found], "classify", model, LONG, "--attention", "window(4)", "--max-length", "16", "--truncate")
        self.assertGreater(found["metadata"]["truncated"], 0)


class WritingTest(OpenCase):
    def test_generate_with_int8_weights(self):
        with weft.open(DECODER, weights="int8") as opened:
            found = opened.generate("the loom", max_new_tokens=12, temperature=0, metadata=True)
            (expected,) = run("generate", DECODER, "--prompt", "the loom", "--max-new-tokens", "12", "--temperature", "0", "--weights", "int8")
            self.assertEqual((found["result"][0]["generated_text"], found["metadata"]["weights"]), (expected["generated_text"], expected["weights"]))

    def test_generate_with_bfloat16_weights(self):
        for arguments, settings in ((("--temperature", "0"), {"temperature": 0}), (("--seed", "3"), {"seed": 3})):
            with weft.open(DECODER, dtype="bfloat16") as opened:
                found = opened.generate("the loom", max_new_tokens=12, metadata=True, **settings)
            (expected,) = run("generate", DECODER, "--prompt", "the loom", "--max-new-tokens", "12", "--dtype", "bfloat16", *arguments)
            self.assertEqual((found["result"][0]["generated_text"], found["metadata"]["dtype"]), (expected["generated_text"], "bfloat16"))

    def test_generate(self):
        with weft.open(DECODER) as opened:
            for arguments, settings in ((("--temperature", "0"), {"temperature": 0}), (("--num-beams", "3", "--num-return-sequences", "2"), {"num_beams": 3, "num_return_sequences": 2}),
                                        (("--seed", "3", "--top-k", "8"), {"seed": 3, "top_k": 8})):
                found = opened.generate("the loom", max_new_tokens=12, metadata=True, **settings)
                expected = run("generate", DECODER, "--prompt", "the loom", "--max-new-tokens", "12", *arguments)
                for one in expected:
                    one.pop("seconds")
                self.assertEqual([{**text, "dtype": found["metadata"]["dtype"]} for text in found["result"]], expected)
            pieces = []
            found = opened.generate("the loom", on_text=pieces.append, **QUIET)
            self.assertEqual("".join(pieces), found[0]["generated_text"])
            self.assertEqual(opened.generate(["the loom", "we"], **QUIET)[0], found)
            ended = opened.generate("the loom", on_text=lambda _: False, **QUIET)
            self.assertEqual(ended[0]["finish_reason"], "output_closed")
            with self.assertRaisesRegex(ZeroDivisionError, "division"):
                opened.generate("the loom", on_text=lambda _: 1 / 0, **QUIET)
            with self.assertRaisesRegex(ValueError, "truth value"):
                opened.generate("the loom", on_text=lambda _: numpy.zeros(2), **QUIET)

    def test_translate_and_summarize(self):
        model = make_marian(self.folder / "marian")
        text = "The loom weaves the thread. Hello, world!\n\n\tA man walks over the bridge.\n"
        with weft.open(model) as opened:
            results = self.check(opened.translate([text, "a man"], target_lang="de", metadata=True), "translate", model, text, "a man", "--target-lang", "de")
            found = opened.translate(text, target_lang="fr", num_beams=3, max_length=8, metadata=True)
            self.check([found], "translate", model, text, "--target-lang", "fr", "--num-beams", "3", "--max-length", "8")
            self.assertEqual(opened.translate(text, target_lang="de"), results[0], "settings of one call are not those of the next")
            pieces = []
            self.assertEqual(opened.translate(text, target_lang="de", on_text=pieces.append), results[0])
            self.assertEqual("".join(pieces), results[0][0]["translation_text"])
            again = opened.translate(text, target_lang="de", on_text=lambda _: bool(opened.translate("a man", target_lang="fr", num_beams=3)))
            self.assertEqual(again, results[0], "a call within a call has settings of its own")
            found = opened.summarize(["a man " * 200], truncate=True, metadata=True)
            self.check(found, "summarize", model, "a man " * 200, "--truncate")
            with self.assertRaisesRegex(weft.ArgumentError, "'de', 'fr'"):
                opened.translate("a man")


class ErrorsTest(OpenCase):
    def assert_error_of(self, call, *arguments):
        """The error is the command's, with the names of Python in place of flags, and without what it says of records."""
        process = program(*arguments)
        (message,) = [line for line in process.stderr.splitlines() if line.startswith("weft: error: ")]
        hint = next((line for line in process.stderr.splitlines() if line.startswith("hint: ")), "hint: ")
        with self.assertRaises(weft.WeftError) as caught:
            call()
        self.assertEqual(f"weft: error: {caught.exception}", message.replace("--", ""))
        self.assertEqual(f"hint: {caught.exception.hint}", hint.replace("--", "").partition("; on-error")[0])

    def test_they_are_the_commands(self):
        labels = directory("sequence-classification", "--labels", "bad", "good", "odd")
        masked = directory("masked-lm")
        opened = weft.open(labels)
        self.assert_error_of(lambda: opened.classify(["we", LONG]), "classify", labels, "we", LONG)
        self.assert_error_of(lambda: opened.tag("we"), "tag", labels, "we")
        self.assert_error_of(lambda: weft.open(masked).fill_mask("we"), "fill-mask", masked, "we")
        self.assert_error_of(lambda: opened.generate("we"), "generate", labels, "--prompt", "we")
        self.assert_error_of(lambda: weft.open(self.folder / "nowhere"), "classify", self.folder / "nowhere", "we")
        self.assertEqual(len(opened.classify(["we", LONG], truncate=True)), 2)
        nowhere, out = self.folder / "nowhere", self.folder / "out"
        self.assert_error_of(lambda: weft.profile(nowhere, text=self.held_out, out=out), "profile", nowhere, "--text", self.held_out, "--out", out)
        self.assert_error_of(lambda: weft.propose(nowhere), "propose", nowhere)

    def test_arguments(self):
        labels = directory("sequence-classification", "--labels", "bad", "good", "odd")
        opened = weft.open(labels)
        for call, error, words in ((lambda: opened.classify("we", topk=3), weft.WeftError, "topk.*top_k"),
                                   (lambda: opened.classify("we", top_k=-1), weft.ArgumentError, "classify: top_k must be at least 0"),
                                   (lambda: opened.classify("we", max_length=8), weft.ArgumentError, "max_length belongs to the model"),
                                   (lambda: opened.classify(["we", 3]), TypeError, "text 2 is a int"),
                                   (lambda: opened.classify("\ud800"), weft.ArgumentError, "half of a surrogate pair"),
                                   (lambda: opened.classify(None), TypeError, "classify: expected a str or a list of str, found NoneType"),
                                   (lambda: opened.classify({"text": "we"}), TypeError, "found dict"),
                                   (lambda: opened.classify(b"we"), TypeError, "found bytes"),
                                   (lambda: opened.classify([b"we"]), TypeError, "text 1 is a bytes; expected a str: decode them"),
                                   (lambda: opened.rerank(None, ["we"]), TypeError, "query is a NoneType"),
                                   (lambda: opened.answer(["who?"], ["we", "see"]), weft.ArgumentError, "1 questions and 2 documents"),
                                   (lambda: opened.score([("a", "b", "c")]), weft.ArgumentError, "pair 1"),
                                   (lambda: weft.open(labels, dtypes="float32"), weft.WeftError, "dtypes.*dtype"),
                                   (lambda: weft.open(DECODER, max_length=8), weft.ArgumentError, "max_length is for encoders"),
                                   (lambda: weft.open(b"m"), weft.ArgumentError, "expected the model as a str or a path of str, found b'm'"),
                                   (lambda: weft.open(DECODER).generate("a", temperature=float("nan")), weft.ArgumentError, "temperature: expected a finite number, found nan"),
                                   (lambda: opened.embed("we", pooling="sum"), weft.ArgumentError, "pooling: ")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()

    def test_whatever_has_texts_is_taken(self):
        opened = weft.open(directory("sequence-classification", "--labels", "bad", "good", "odd"))
        expected = opened.classify(["we", "see"])
        for given in (iter(["we", "see"]), (text for text in ["we", "see"]), numpy.array(["we", "see"]), {"we": 1, "see": 2}.keys()):
            with self.subTest(type(given)):
                self.assertEqual(opened.classify(given), expected)
        self.assertEqual(opened.classify([["we", "see"]]), [opened.classify(("we", "see"))])

    def test_modes_of_torch_change_nothing(self):
        opened = weft.open(directory("none"))
        plain = opened.embed("we see")
        with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
            numpy.testing.assert_array_equal(opened.embed("we see"), plain)
        torch.set_default_dtype(torch.float64)
        try:
            with self.assertRaisesRegex(weft.ArgumentError, "set_default_dtype"):
                opened.embed("we see")
        finally:
            torch.set_default_dtype(torch.float32)

    def test_closed_and_forked(self):
        opened = weft.open(directory("none"))
        self.assertIn("bert", repr(opened))
        child = os.fork()
        if child == 0:
            try:
                opened.embed("we")
            except weft.WeftError as error:
                os._exit(7 if "is a fork" in str(error) else 8)
            os._exit(9)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
        held, done = threading.Event(), threading.Event()
        other = threading.Thread(target=lambda: opened._lock.acquire() and held.set() or done.wait() and opened._lock.release())
        other.start()
        held.wait()
        child = os.fork()  # while another thread computes
        if child == 0:
            signal.alarm(20)
            try:
                opened.embed("we")
            except weft.WeftError:
                opened.close()
                os._exit(7)
            os._exit(9)
        done.set()
        other.join()
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
        opened.close()
        with self.assertRaisesRegex(weft.WeftError, "is closed"):
            opened.embed("we")

    def test_threads_wait_for_each_other(self):
        opened, found = weft.open(directory("none")), {}
        plain = opened.embed(TEXTS[:3])
        threads = [threading.Thread(target=lambda n=n: found.update({n: opened.embed(TEXTS[:3])})) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(all(numpy.array_equal(found[n], plain) for n in range(4)))


def interrupt_when(ready):
    """Ctrl-C as soon as `ready` says so."""
    def wait():
        while not ready():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=wait, daemon=True).start()


class InterruptTest(OpenCase):
    def test_a_text(self):
        opened, pieces = weft.open(DECODER), []
        interrupt_when(lambda: len(pieces) > 3)
        with self.assertRaises(KeyboardInterrupt) as caught:
            opened.generate("the loom", on_text=pieces.append, temperature=0, max_new_tokens=100000)
        self.assertIn("stopped after", str(caught.exception.__cause__))
        self.assertEqual(len(opened.generate("the loom", **QUIET)), 1)


class TrainTest(OpenCase):
    FIELDS = {"context": 64, "batch_size": 2, "num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 2, "dtype": "float32", "threads": 1,
              "attention": "causal & window(8)"}

    def test_the_bits_of_the_command(self):
        generator = torch.random.get_rng_state()
        command, here = self.folder / "command", self.folder / "python"
        process = program("train", "--train-text", self.train_text, *TINY, "--attention", "causal & window(8)", "--steps", "4", "--out", command, "--json")
        self.assertEqual(process.returncode, 0, process.stderr)
        expected, found = json.loads(process.stdout), weft.train(here, train_text=self.train_text, steps=4, **self.FIELDS)
        self.assertEqual(losses(here), losses(command))
        self.assertEqual((found["steps"], found["loss"], found.keys()), (4, expected["loss"], expected.keys()))
        self.assertEqual((here / "model.safetensors").read_bytes(), (command / "model.safetensors").read_bytes())
        self.assertTrue(torch.equal(generator, torch.random.get_rng_state()))
        found = weft.train(here, resume=True, steps=6)
        self.assertEqual((found["steps"], losses(here)[:4]), (6, losses(command)))

    def test_a_task_and_seeds(self):
        model = directory("none", "--hidden-dropout-prob", "0")
        found = weft.train(self.run_directory, task="classify", model=model, train_data=FIXTURES / "earlier" / "train.csv", steps=2, batch_size=2, dtype="float32",
                           threads=1, seeds=2)
        self.assertEqual((len(found["runs"]), list(found["figures"]["train_loss"])), (2, ["mean", "deviation", "values"]))
        self.assertEqual(len(weft.open(self.run_directory / "seed-0").classify("we see")), 1)

    def test_errors(self):
        for fields, words in (({"step": 3}, "step.*steps"), ({"steps": -1}, "steps must be"), ({"task": "clasify"}, "classify"),
                              ({"train_text": self.folder / "nowhere.txt", "steps": 1}, "nowhere.txt")):
            with self.subTest(words), self.assertRaisesRegex(weft.WeftError, words):
                weft.train(self.run_directory, **{"train_text": self.train_text, **self.FIELDS, **fields})
        self.assertFalse(self.run_directory.exists())

    def test_ctrl_c_saves_the_run(self):
        fields = {"train_text": self.train_text, "steps": 100000, **self.FIELDS}
        interrupt_when((self.run_directory / "metrics.jsonl").exists)
        with self.assertRaises(KeyboardInterrupt) as caught:
            weft.train(self.run_directory, **fields)
        cause = caught.exception.__cause__
        self.assertRegex(str(cause), r"stopped after step \d+, which is saved")
        self.assertIn("resume=True", cause.hint)
        steps = int(re.search(r"step (\d+)", str(cause))[1])
        found = weft.train(self.run_directory, resume=True, steps=steps + 2)
        self.assertEqual(found["steps"], steps + 2)


class ProfileTest(OpenCase):
    def profile(self, name, **fields):
        """(the file, what was said of it), of a decoder in two units or more."""
        out = self.folder / name
        return out, weft.profile(DECODER, text=self.held_out, batch_tokens=256, tile=16, out=out, **fields)

    def test_the_files_and_results_of_the_commands(self):
        command = self.folder / "command.safetensors"
        expected = weft_json("profile", DECODER, "--text", self.held_out, "--batch-tokens", 256, "--tile", 16, "--threads", 1, "--out", command)
        here, found = self.profile("python.safetensors")
        self.assertEqual({**found, "out": str(command), "seconds": expected["seconds"]}, expected)
        self.assertEqual(here.read_bytes(), command.read_bytes())
        shards = [self.profile(f"shard{number}", shard=f"{number}/2")[0] for number in range(2)]
        merged = weft.profile(merge=shards, out=self.folder / "merged", svg=self.folder / "heads.svg")
        self.assertEqual(merged["parts"], found["parts"])
        self.assertEqual((self.folder / "merged").read_bytes(), command.read_bytes())
        self.assertIn("<svg", (self.folder / "heads.svg").read_text())

        arguments = ["--mass", 0.8, "--held-out", self.held_out, "--max-bytes", 1000, "--threads", 1]
        expected = weft_json("propose", command, *arguments, "-o", self.folder / "command.json")
        found = weft.propose(here, mass=0.8, held_out=self.held_out, max_bytes=1000, out=self.folder / "python.json")
        self.assertEqual(found, expected)
        self.assertEqual((self.folder / "python.json").read_bytes(), (self.folder / "command.json").read_bytes())
        self.assertEqual([str(weft.Pattern(text)) for text in found["attention"]], found["attention"])

    def test_what_is_refused(self):
        here, _ = self.profile("python.safetensors")
        texts = {"text": self.held_out, "out": here}
        for call, error, words in ((lambda: weft.profile(DECODER, data=self.held_out, out=here), weft.ArgumentError, "a decoder: it reads text PATH"),
                                   (lambda: weft.profile(out=here), weft.ArgumentError, "the directory of a model"),
                                   (lambda: weft.profile(DECODER, tiles=16, **texts), weft.WeftError, "tiles.*tile"),
                                   (lambda: weft.profile(DECODER, tile=0, **texts), weft.ArgumentError, "profile: tile must be"),
                                   (lambda: weft.profile(DECODER, shard="2/2", **texts), weft.ArgumentError, "with I below N"),
                                   (lambda: weft.profile(DECODER, merge=[here], out=here), weft.ArgumentError, "merge joins finished shards"),
                                   (lambda: weft.propose(here, gap=0.1), weft.ArgumentError, "gap has no effect without rewire"),
                                   (lambda: weft.propose(here, attend="cross"), weft.ArgumentError, "without cross-attention")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()


if __name__ == "__main__":
    unittest.main()
