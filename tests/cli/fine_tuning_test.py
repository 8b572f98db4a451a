# SPDX-License-Identifier: Apache-2.0
"""`weft train --task` and `weft eval --task` end to end: from a vocabulary and random weights to a model that the other commands run."""

import json
import pathlib
import random
import unittest

from encoder_program import make_model
from weft_program import Case, losses, weft, weft_json

ALIKE = ["--dtype", "float32", "--threads", "1", "--learning-rate", "0.003"]
FAST = [*ALIKE, "--batch-size", "8"]
# Weights that train in a few epochs of 64 short texts.
EASY = ["--initializer-range", "0.2", "--hidden-dropout-prob", "0", "--attention-probs-dropout-prob", "0"]
WORDS = ("the", "loom", "thread", "hello", "world", "said", "it", "she", "we", "see")


class FineTuningCase(Case):
    def setUp(self):
        super().setUp()
        draw = random.Random(3)
        self.texts = [" ".join(draw.choice(WORDS) for _ in range(draw.randint(2, 8))) for _ in range(64)]
        self.labels = ["loom" if "loom" in text else "none" for text in self.texts]
        self.table = self.folder / "texts.tsv"
        rows = [f"{text}\t{label}" for text, label in zip(self.texts, self.labels, strict=True)]
        self.table.write_text("\n".join(["text\tlabel", *rows]) + "\n")

    def model(self, name="model", *more, family="bert", head="masked-lm"):
        if (self.folder / name).exists():
            return self.folder / name
        return make_model(self.folder / name, family, head, *EASY, *more)

    def arguments(self, out, *more, task="classify", model=None):
        return ["train", "--task", task, "--model", model or self.model(f"model-{out.name}"), "--train-data", self.table,
                "--eval-data", self.table, *(ALIKE if "--batch-tokens" in more else FAST), "--out", out, *more]


class RetrievalTest(FineTuningCase):
    def test_from_pairs_to_vectors_and_to_scores(self):
        """Texts that share a word belong together: an embedder learns it, and a reranker."""
        draw = random.Random(7)
        records = []
        for word in WORDS * 4:
            other = draw.choice([one for one in WORDS if one != word])
            records.append({"query": f"{word} {word}", "positive": f"{word} {draw.choice(WORDS)} {word}", "negative": f"{other} {other}"})
        data = self.folder / "pairs.jsonl"
        data.write_text("".join(json.dumps(record) + "\n" for record in records))
        process = weft("train", "--task", "embed", "--model", self.model(), "--train-data", data, "--eval-data", data, *FAST, "--epochs", "6",
                       "--matryoshka-dims", "16", "8", "--mini-batch-tokens", "64", "--best-metric", "ndcg_at_10", "--eval-every", "10",
                       "--out", self.run_directory)
        self.assertEqual(process.returncode, 0, process.stderr)
        for part in ("mean pooling, Normalize: new", "in-batch negatives, scale 20", "40 examples"):
            self.assertIn(part, process.stderr)
        found = weft_json("eval", self.run_directory / "best", "--data", data, "--predictions", self.folder / "ranks.jsonl")
        best = json.loads((self.run_directory / "best/best.json").read_text())
        self.assertEqual((found["task"], found["ndcg_at_10"]), ("embed", best["value"]))
        self.assertGreater(found["mrr_at_10"], 0.5)
        self.assertIn("ndcg_at_10_at_8", found)
        # The embedder's own command gives the cosine of the predictions.
        ranks = [json.loads(line) for line in (self.folder / "ranks.jsonl").read_text().splitlines()]
        vectors = [json.loads(line)["result"] for line in weft("embed", self.run_directory / "best", records[0]["query"],
                                                               records[0]["positive"], "--json").stdout.splitlines()]
        cosine = sum(a * b for a, b in zip(*vectors, strict=True))
        self.assertAlmostEqual(cosine, ranks[0]["scores"][0], places=5)
        scored = weft_json("train", "--task", "rerank", "--model", self.model(), "--train-data", data, "--eval-data", data, *FAST, "--epochs",
                           "2", "--out", self.folder / "reranker")
        self.assertIn("ndcg_at_10", scored["evaluation"])
        (self.folder / "reranker/training.json").rename(self.folder / "reranker.json")  # a model of other people with one label
        self.assertEqual(weft_json("eval", self.folder / "reranker", "--data", data)["task"], "rerank")
        (self.folder / "reranker.json").rename(self.folder / "reranker/training.json")
        compared = weft("compare", self.run_directory, self.folder / "reranker")
        self.assertIn("ndcg_at_10", compared.stdout, compared.stderr)
        report = weft("report", self.run_directory)
        self.assertIn("ndcg_at_10", pathlib.Path(report.stdout.strip()).read_text(), report.stderr)
        for more, words in ((["--task", "classify", "--symmetric"], ["--symmetric", "embed and rerank"]),
                            (["--task", "embed", "--train-data", self.table], ["first text", "--text-field", "'label'"])):
            refused = weft("train", "--model", self.model(), "--train-data", data, "--epochs", "1", "--out", self.folder / "none", *more)
            self.assertNotEqual(refused.returncode, 0)
            for word in words:
                self.assertIn(word, refused.stderr)


class ClassifyTest(FineTuningCase):
    def test_a_run_from_texts_to_a_model_that_classifies(self):
        process = weft(*self.arguments(self.run_directory, "--epochs", "12"))
        self.assertEqual(process.returncode, 0, process.stderr)
        for part in ("classify", "bert", "new, labels loom, none", "classifier.weight", "8 examples a step, 8 steps an epoch", "96 steps",
                     "64 examples"):
            self.assertIn(part, process.stderr)
        for part in ("accuracy", "matthews", "f1_macro"):
            self.assertIn(part, process.stdout)
        found = weft_json("eval", self.run_directory, "--data", self.table, "--predictions", self.folder / "predictions.jsonl")
        self.assertGreater(found["accuracy"], 0.9)
        self.assertEqual((found["task"], found["dtype"], "warning" in found), ("classify", "float32", False))
        self.assertEqual((found["examples"], found["skipped"], found["cut"]), (64, 0, 0))
        self.assertEqual([entry["label"] for entry in found["labels"]], ["loom", "none"])
        lines = [json.loads(line) for line in (self.folder / "predictions.jsonl").read_text().splitlines()]
        self.assertEqual([line["truth"] for line in lines], self.labels)
        self.assertEqual([line["text"] for line in lines], self.texts)
        self.assertEqual([(line["file"], line["line"]) for line in lines], [(str(self.table), number + 2) for number in range(64)])
        # The command for new texts says the same as the evaluation.
        answers = weft("classify", self.run_directory, *self.texts[:10], "--json")
        labels = [json.loads(line)["result"][0] for line in answers.stdout.splitlines()]
        self.assertEqual([entry["label"] for entry in labels], [line["label"] for line in lines[:10]])
        for entry, line in zip(labels, lines, strict=False):
            self.assertAlmostEqual(entry["score"], line["score"], places=5)

    def test_every_family_and_a_head_that_is_there(self):
        for family in ("roberta", "xlm-roberta", "distilbert", "modernbert", "mpnet", "electra", "nomic_bert", "longformer", "big_bird", "littlebird", "etc", "star_transformer"):
            model = self.model(family, "--labels", "none", "loom", family=family, head="sequence-classification")
            out = self.folder / f"run-{family}"
            process = weft(*self.arguments(out, "--steps", "2", model=model))
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertIn("that of the model, labels none, loom", process.stderr)
            config = json.loads((out / "config.json").read_text())
            self.assertEqual(config["id2label"], {"0": "none", "1": "loom"})

    def test_from_a_vocabulary_of_ones_own(self):
        """Letters of DNA one by one, a class a file, long inputs in a sparse model."""
        draw = random.Random(5)
        for name, letters in (("rich", "GGCCA"), ("poor", "AATTG")):
            records = [f">{i}\n{''.join(draw.choice(letters) for _ in range(40))}\n" for i in range(24)]
            (self.folder / f"{name}.fa").write_text("".join(records))
        files = [self.folder / "rich.fa", self.folder / "poor.fa"]
        weft_json("tokenizer", "train", *files, "--dna", "--vocabulary-size", "261", "--out", self.folder / "letters")
        weft_json("init", "--family", "big_bird", "--tokenizer", self.folder / "letters", "--num-hidden-layers", "1", "--hidden-size", "16",
                  "--num-attention-heads", "2", "--intermediate-size", "32", "--max-position-embeddings", "64", "--block-size", "8",
                  "--num-random-blocks", "1", "--out", self.folder / "model")
        self.assertEqual(weft("tokenize", self.folder / "model", "ACgt").stdout, "<s> A C G T </s>\n")
        found = weft_json("train", "--task", "classify", "--model", self.folder / "model", "--train-data", f"1={files[0]}", f"0={files[1]}",
                          "--eval-data", f"1={files[0]}", f"0={files[1]}", *FAST, "--epochs", "6", "--out", self.run_directory)
        self.assertGreater(found["evaluation"]["f1"], 0.9)

    def test_folders_of_a_class_and_cut_texts(self):
        for i, (text, label) in enumerate(zip(self.texts, self.labels, strict=True)):
            path = self.folder / "reviews" / label / f"{i}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text * 12)
        arguments = ["train", "--task", "classify", "--model", self.model(), "--train-data", self.folder / "reviews", *FAST, "--steps", "1",
                     "--out", self.run_directory]
        self.assert_fails(weft(*arguments), 1, "tokens", "at most 62", "--truncate")
        process = weft(*arguments, "--truncate")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("were cut", process.stderr)
        self.assertIn("labels loom, none", process.stderr)

    def test_repeats_reports_and_comparisons(self):
        arguments = self.arguments(self.run_directory, "--steps", "4", "--eval-every", "2", "--best-metric", "accuracy")
        found = weft_json(*arguments, "--seeds", "2")
        self.assertEqual(found["figures"]["accuracy"]["values"], [run["evaluation"]["accuracy"] for run in found["runs"]])
        first = self.run_directory / "seed-0"
        report = weft_json("report", first)
        command = report["command"].split()
        self.assertEqual(command[:4], ["weft", "train", "--task", "classify"])
        again = weft(*command[1:])
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(losses(f"{first}-again"), losses(first))
        compared = weft_json("compare", first, self.run_directory / "seed-1")
        self.assertEqual(compared[0]["settings"]["seed"], 0)
        self.assertIn("eval accuracy", compared[0])
        self.assertIn("task", (first / "report.html").read_text())
        described = weft_json("info", first)
        self.assertEqual((described["training"]["step"], described["training"]["config"]["task"]), (4, "classify"))
        self.assertIn("accuracy", weft("info", first).stdout)
        config = weft_json("train", "--config", first / "training.json", "--out", self.folder / "from-config")
        self.assertEqual(config["steps"], 4)
        self.assertEqual(losses(self.folder / "from-config"), losses(first))


class MultilabelTest(FineTuningCase):
    def test_profiles_and_groups(self):
        rows = [{"text": text, "labels": [word for word in ("loom", "she", "we") if word in text]} for text in self.texts]
        data = self.folder / "profiles.jsonl"
        data.write_text("\n".join(map(json.dumps, rows)) + "\n")
        groups = self.folder / "groups.json"
        groups.write_text(json.dumps({"people": ["she", "we"], "things": ["loom"]}))
        found = weft_json("train", "--task", "multilabel", "--model", self.model(), "--train-data", data, "--eval-data", data, *FAST,
                          "--label-groups", groups, "--class-weights", "balanced", "--epochs", "15", "--out", self.run_directory)
        self.assertGreater(found["evaluation"]["roc_auc_people"], 0.9)
        measured = weft_json("eval", self.run_directory, "--task", "multilabel", "--data", data, "--dtype", "float32")
        self.assertAlmostEqual(measured["roc_auc_things"], found["evaluation"]["roc_auc_things"], places=6)
        self.assertEqual([entry["label"] for entry in measured["labels"]], ["loom", "she", "we"])
        answer = weft_json("classify", self.run_directory, self.texts[0])
        self.assertEqual(answer["metadata"]["function"], "sigmoid")


class OtherTasksTest(FineTuningCase):
    def trained(self, task, data, *more, family="bert"):
        return weft_json("train", "--task", task, "--model", self.model(family=family), "--train-data", data, "--eval-data", data, *FAST, *more,
                         "--out", self.run_directory)

    def test_tags(self):
        data = self.folder / "words.conll"
        sentences = ["\n".join(f"{word}\t{'B-tool' if word == 'loom' else 'O'}" for word in text.split()) for text in self.texts]
        data.write_text("\n\n".join(sentences) + "\n")
        found = self.trained("tag", data, "--epochs", "8")
        self.assertGreater(found["evaluation"]["f1"], 0.9)
        measured = weft_json("eval", self.run_directory, "--data", data)
        self.assertEqual((measured["task"], measured["types"][0]["type"]), ("tag", "tool"))
        tagged = json.loads(weft("tag", self.run_directory, "the loom", "--aggregation-strategy", "simple", "--json").stdout)
        self.assertEqual([entity["word"] for entity in tagged["result"]], ["loom"])

    def test_a_pattern_over_positions_that_a_task_does_not_name(self):
        words = self.folder / "words.conll"
        words.write_text("the\tO\nloom\tB-tool\n")
        labels = self.folder / "labels.tsv"
        labels.write_text("text\tlabel\nthe loom\t1\nthe thread\t0\n")
        for task, data, is_noted in (("tag", words, True), ("classify", labels, False)):
            process = weft("train", "--task", task, "--model", self.model(), "--train-data", data, "--steps", "1", "--attention",
                           "window(8) | global(input)", "--out", self.folder / task)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertEqual("stands for no position" in process.stderr, is_noted, process.stderr)
        tagged = json.loads(weft("tag", self.folder / "tag", "the loom", "--json").stdout)
        self.assertIn("no position", tagged["metadata"]["global"])

    def test_tags_go_where_their_tokens_went(self):
        """Training text in other tokens each time: a label that stayed behind would be a label of another word."""
        data = self.folder / "words.conll"
        sentences = ["\n".join(f"{word}\t{'B-tool' if word in ('loom', 'thread') else 'O'}" for word in text.split()) for text in self.texts]
        data.write_text("\n\n".join(sentences) + "\n")
        found = self.trained("tag", data, "--epochs", "40", "--bpe-dropout", "0.5", family="roberta")
        self.assertGreater(found["evaluation"]["f1"], 0.9)

    def test_answers(self):
        paragraphs = []
        for number, text in enumerate(self.texts[:32]):
            has = "loom" in text
            answers = [{"text": "loom", "answer_start": text.index("loom")}] if has else []
            paragraphs.append({"context": text, "qas": [{"id": str(number), "question": "what", "answers": answers, "is_impossible": not has}]})
        data = self.folder / "answers.json"
        data.write_text(json.dumps({"data": [{"title": "t", "paragraphs": paragraphs}]}))
        found = self.trained("answer", data, "--epochs", "20", "--max-length", "12", "--stride", "2")
        self.assertGreater(found["evaluation"]["f1"], 80)
        measured = weft_json("eval", self.run_directory, "--task", "answer", "--data", data, "--dtype", "float32", "--predictions",
                             self.folder / "predictions.jsonl")
        self.assertAlmostEqual(measured["f1"], found["evaluation"]["f1"], places=6)
        lines = [json.loads(line) for line in (self.folder / "predictions.jsonl").read_text().splitlines()]
        self.assertEqual(len(lines), 32)

    def test_choices(self):
        rows = [{"prompt": "we see", "choices": ["the loom" if right == 0 else "the world", "the loom" if right == 1 else "hello"], "label": right}
                for right in (i % 2 for i in range(24))]
        data = self.folder / "choices.jsonl"
        data.write_text("\n".join(map(json.dumps, rows)) + "\n")
        found = self.trained("choose", data, "--epochs", "12")
        self.assertEqual(found["evaluation"]["accuracy"], 1.0)
        chosen = weft_json("choose", self.run_directory, "--prompt", "we see", "--choice", "hello", "--choice", "the loom")
        self.assertEqual(chosen["result"][0]["choice"], "the loom")


class ResumptionTest(FineTuningCase):
    def test_a_killed_run_goes_on_to_the_same_bits(self):
        model = self.model("model", "--hidden-dropout-prob", "0.1", family="roberta")
        more = ["--bpe-dropout", "0.2", "--steps", "150", "--checkpoint-every", "3", "--eval-every", "5", "--batch-tokens", "60"]
        self.assertEqual(weft(*self.arguments(self.folder / "whole", *more, model=model)).returncode, 0)
        self.kill_at(self.arguments(self.run_directory, *more, model=model), 6)
        resumed = weft("train", "--resume", "--out", self.run_directory)
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual(losses(self.run_directory), losses(self.folder / "whole"))
        weights = [(folder / "model.safetensors").read_bytes() for folder in (self.run_directory, self.folder / "whole")]
        self.assertEqual(weights[0], weights[1])

    def test_several_processes_have_the_losses_of_one(self):
        model = self.model()
        alone = self.folder / "alone"
        one = weft(*self.arguments(alone, "--steps", "4", "--gradient-accumulation", "2", model=model))
        self.assertEqual(one.returncode, 0, one.stderr)
        found = json.loads(self.together(self.arguments(self.run_directory, "--steps", "4", "--json", model=model)))
        for (step, loss), (_, expected) in zip(losses(self.run_directory), losses(alone), strict=True):
            self.assertAlmostEqual(loss, expected, delta=1e-5, msg=f"step {step}")
        evaluated = json.loads((alone / "metrics.jsonl").read_text().splitlines()[-1])["eval"]
        self.assertAlmostEqual(found["evaluation"]["loss"], evaluated["loss"], places=4)


class RefusalTest(FineTuningCase):
    def test_flags_of_another_task(self):
        self.assert_fails(weft(*self.arguments(self.run_directory, "--steps", "1", "--layers", "2")), 2, "--num-hidden-layers", "classify")
        self.assert_fails(weft(*self.arguments(self.run_directory, "--steps", "1", "--context", "2")), 2, "--context", "classify")
        self.assert_fails(weft("train", "--train-text", self.train_text, "--epochs", "2", "--out", self.run_directory), 2, "--epochs", "lm")
        self.assert_fails(weft("train", "--task", "sing", "--out", self.run_directory), 2, "--task")
        self.assertFalse(self.run_directory.exists())

    def test_what_a_task_needs(self):
        self.assert_fails(weft("train", "--task", "classify", "--out", self.run_directory, "--train-data", self.table, "--steps", "1"), 2,
                          "--model")
        self.assert_fails(weft(*self.arguments(self.run_directory)), 2, "--epochs", "--steps", "--minutes")
        bad = self.folder / "bad.tsv"
        bad.write_text("text\tlabel\nhello\tnone\nno tab here\n")
        arguments = ["train", "--task", "classify", "--model", self.model(), "--train-data", bad, *FAST, "--steps", "1", "--out",
                     self.run_directory]
        self.assert_fails(weft(*arguments), 1, "bad.tsv' line 3")
        bad.write_text("text\tlabel\nhello\tnone\nno tab here\nloom\tloom\n")
        process = weft(*arguments, "--on-error", "skip")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("skipped as malformed: 1, the first: ", process.stderr)

    def test_an_evaluation_needs_the_right_head(self):
        model = self.model(head="token-classification")
        self.assert_fails(weft("eval", model, "--task", "classify", "--data", self.table), 1, "sequence-classification", "token-classification")
        self.assert_fails(weft("eval", model, "--task", "classify"), 2, "--data")
        # Nobody says the task: it is that of the head.
        words = self.folder / "words.conll"
        words.write_text("the\tO\nloom\tO\n")
        self.assertEqual(weft_json("eval", model, "--data", words)["task"], "tag")
        self.assert_fails(weft("eval", self.model("masks"), "--data", self.table), 2, "no head for labelled examples", "--text PATH")
        self.assert_fails(weft("eval", model, "--text", self.held_out, "--predictions", "x.jsonl"), 2, "--predictions is for tasks")
        self.assert_fails(weft("eval", model, "--text", self.held_out, "--text-field", "x"), 2, "--text-field is for tasks")
        self.assert_fails(weft("eval", model, "--task", "classify", "--data", self.table, "--context", "4"), 2, "--context")

    def test_language_models_are_as_they_were(self):
        self.train("--steps", "2", "--task", "lm")
        self.train("--steps", "2", "--task", "mlm", out=self.folder / "encoder")
        self.assertEqual(weft_json("info", self.folder / "encoder")["kind"], "encoder")
        settings = json.loads((self.run_directory / "training.json").read_text())
        self.assertNotIn("task", settings)


if __name__ == "__main__":
    unittest.main()
