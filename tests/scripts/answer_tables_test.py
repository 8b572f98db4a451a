#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables of questions over long texts: stretches hold their answers, no article is on both sides, rows of a table differ in what they say they differ in, and
figures of time are those of the right program.
"""
import json
import os
import pathlib
import random
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path[:0] = [str(ROOT / "examples/science"), str(ROOT / "tests/support")]

import long_answers  # noqa: E402
import science  # noqa: E402
import shared_words  # noqa: E402
from told_world import ToldWorld, value  # noqa: E402

TIMES = {"forward_ms": 1.0, "forward_bytes": 2e6, "forward_backward_ms": 3.0, "forward_backward_bytes": 4e6}


def pruned(words):
    about = {"attention": ["kept"], "kept_mass": 0.5, "cost_share": 0.125}
    pathlib.Path(value(words, "-o")).write_text(json.dumps(about))
    return about


def timed(words):
    if words[1] == "attention":
        return {prefix + name: value * factor for prefix, factor in (("", 1), ("dense_", 10), ("stored_", 100)) for name, value in TIMES.items()}
    return {"seconds": 7.0, "peak_gb": 0.5}


def timed_apart(words):
    return json.dumps({"seconds": 9.0 if "--train" in words else 8.0, "peak_gb": 0.25})


def answer_in(text, words):
    return {"text": words, "answer_start": text.index(words)}


def write_data(folder):
    """Ten articles a collection. Every answer has the number of its article."""
    def paragraph(number, count):
        text = f"The loom of {number} weaves. " + " ".join(f"word{place}" for place in range(count)) + f". The answer is thread {number}. " + "and on " * count
        rows = [{"id": number, "question": f"What is the answer of {number}?", "answers": [answer_in(text, f"thread {number}")] * 2},
                {"id": f"none {number}", "question": "What is not there?", "answers": [], "is_impossible": True},
                {"id": f"wrong {number}", "question": "What stands elsewhere?", "answers": [{"text": "elsewhere", "answer_start": 3}]}]
        return {"context": text, "qas": rows}
    for path, base in zip(long_answers.NEEDS, (0, 100)):
        (folder / path).parent.mkdir(parents=True)
        articles = [{"paragraphs": [paragraph(base + 2 * number, 300), paragraph(base + 2 * number + 1, 900)]} for number in range(10)]
        (folder / path).write_text(json.dumps({"data": articles}))


class StretchTest(unittest.TestCase):
    def test_a_stretch_holds_whole_words_and_the_answer(self):
        draw = random.Random(2)
        text = " ".join(f"w{number}" for number in range(500))
        places = set()
        for number in range(0, 500, 7):
            answer = f"w{number} w{number + 1}" if number < 499 else "w499"
            asked = long_answers.Asked("1", "q", text, [(text.index(answer), answer)])
            for letters in (12, 60, 700, len(text), 10 * len(text)):
                begin, found = long_answers.stretch(asked, letters, draw)
                self.assertLessEqual(len(found), letters)
                self.assertEqual(text[begin:begin + len(found)], found)
                self.assertIn(answer, found)
                self.assertTrue(set(found.split()) <= set(text.split()))
                places.add(round(10 * found.index(answer) / len(found)))
        self.assertGreater(len(places), 8)  # at the beginning, in the middle and at the end

    def test_an_answer_that_is_longer_than_a_stretch_is_all_of_it(self):
        asked = long_answers.Asked("1", "q", "one two three four", [(4, "two three")])
        self.assertEqual(long_answers.stretch(asked, 5, random.Random(1)), (4, "two three"))

    def test_sentences_and_figures(self):
        text = "Nobody knows. The loom weaves a thread!\nThe loom waits."
        self.assertEqual(long_answers.nearest_sentence("What does the loom weave, a thread?", text), "The loom weaves a thread!")
        self.assertEqual(long_answers.compared("The thread.", "a Thread"), (1.0, 1.0))
        self.assertEqual(long_answers.compared("red thread", "thread of gold"), (0.0, 0.4))
        self.assertEqual(long_answers.compared("the", "an"), (1.0, 1.0))  # nothing is left of either
        self.assertEqual(long_answers.compared("", "thread"), (0.0, 0.0))


class TableCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-answers-")
        self.addCleanup(folder.cleanup)
        self.world = ToldWorld(pathlib.Path(folder.name), train={"evaluation": {"f1": 12.0, "exact_match": 4.0}}, prune=pruned, bench=timed, apart=timed_apart)
        write_data(self.world.data)

    def rows(self, name, seed=0):
        table = science.load_table(name)
        table.CLOZES = 50  # made questions: time alone
        return table, [(cell, table.run(cell, seed, self.world)) for cell in table.cells()]


class CollectionTest(TableCase):
    def test_what_is_scored_is_not_learned_from(self):
        learned, scored = long_answers.collection(self.world.data)
        self.assertEqual((len(learned), len(scored)), (30, 10))  # of two paragraphs an article, and no question without an answer
        self.assertFalse({each.article for each in learned} & {each.article for each in scored})
        self.assertEqual(scored, long_answers.collection(self.world.data)[1])
        for each in (*learned, *scored):
            self.assertEqual(len(each.answers), 1)  # those that are alike count once
            self.assertTrue(each.article.startswith(f"thread {each.id}", each.answers[0][0]))
        learned_words = long_answers.learned_text(self.world).read_text()
        self.assertFalse([each for each in scored if each.question in learned_words])

    def test_files_are_as_squad_has_them(self):
        for path in (long_answers.scored_file(self.world, 256), long_answers.learned_file(self.world, 256, 1),
                     long_answers.learned_file(self.world, 256, 1, mixed=True), long_answers.cloze_file(self.world, 256, 50, 1)):
            paragraphs = json.loads(path.read_text())["data"][0]["paragraphs"]
            lengths = [len(shared_words.unmarked(paragraph["context"])) for paragraph in paragraphs]
            self.assertLessEqual(max(lengths), long_answers.letters_of(256))
            self.assertEqual(min(lengths) < 0.8 * max(lengths), not path.name.startswith(("scored", "learned")), lengths)
            for paragraph in paragraphs:
                (row,) = paragraph["qas"]
                self.assertTrue(row["answers"])
                for answer in row["answers"]:
                    self.assertTrue(paragraph["context"].startswith(answer["text"], answer["answer_start"]))


class PruningTest(TableCase):
    def test_rows_differ_in_their_patterns_alone(self):
        table, rows = self.rows("squad_pruning", seed=2)
        self.assertEqual(len(rows), 5 * len(table.LENGTHS))
        for cell, figures in rows:
            if cell["by"] == table.SENTENCE:
                self.assertGreater(figures["f1"], 30)  # thread N, of six words
            else:
                self.assertEqual(figures, {"f1": 12.0, "exact": 4.0} | ({"mass": 50.0, "cost": 12.5} if cell["pruned"] else {}))

    def test_rows_of_a_length_learn_alike(self):
        table, _ = self.rows("squad_pruning", seed=2)
        trained = {pathlib.Path(words[1]).name: words for words in self.world.of("train")}
        self.assertEqual(len(trained), 2 + 4 * len(table.LENGTHS))
        for tokens in table.LENGTHS:
            ours = [words for name, words in trained.items() if name.startswith(f"{tokens}-")]
            for flag in ("--steps", "--train-data", "--eval-data", "--batch-size", "--learning-rate", "--seed"):
                self.assertEqual(len({value(words, flag) for words in ours}), 1, flag)
            self.assertEqual(int(value(ours[0], "--batch-size")) * tokens, table.TOKENS_A_STEP)

    def test_patterns_are_of_one_density_and_one_reader(self):
        table, _ = self.rows("squad_pruning", seed=2)
        pruned = self.world.of("prune")
        self.assertEqual({value(words, "--density") for words in pruned}, {"0.1"})
        self.assertEqual(sum("--control" in words for words in pruned), 2 * len(table.LENGTHS))
        self.assertEqual({value(words, "--seed") for words in pruned if "random" in words}, {"2"})
        begun = {words[1] for words in self.world.of("convert")}
        self.assertEqual({pathlib.Path(path).name for path in begun}, {"first-2"})  # each row goes on from the same reader

    def test_times_are_those_of_the_program_that_a_row_names(self):
        table, rows = self.rows("pruning_cost")
        self.assertEqual(len(rows), 5 * len(table.LENGTHS))
        factors = {table.STORED: 100, table.LIBTORCH: 10, table.WEFT: 1}
        for cell, figures in rows:
            factor, is_dense = factors[cell["attention"]], cell["attention"] in table.DENSE
            self.assertEqual({name: figures[name] for name in ("attention_ms", "attention_mb", "attention_step_ms", "attention_step_mb")},
                             {"attention_ms": factor, "attention_mb": 2 * factor, "attention_step_ms": 3 * factor, "attention_step_mb": 4 * factor})
            self.assertEqual((figures["model_s"], figures["step_s"]), (8.0, 9.0) if is_dense else (7.0, 7.0))
        patterns = [value(words, "--pattern") for words in self.world.of("bench") if words[1] == "attention"]
        self.assertEqual(patterns, ["full", "full", "full", "kept", "kept"] * len(table.LENGTHS))
        self.assertEqual(sum("--stored-scores" in words for words in self.world.of("bench")), len(table.LENGTHS))
        self.assertEqual([value(words, "--block") for words in self.world.of("prune")], ["64", "32"] * len(table.LENGTHS))
        self.assertEqual({value(words, "--scope") for words in self.world.of("prune")}, {"layer"})  # the layer whose attention is timed keeps a tenth, too
        self.assertEqual([value(words, "--tile") for words in self.world.of("profile")], ["64", "32"] * len(table.LENGTHS))
        self.assertEqual(sum(folder is not None for folder in self.world.folders), 2 * len(table.LENGTHS))  # graphs are named below it


class AblationTest(TableCase):
    def test_each_row_changes_one_thing(self):
        table, rows = self.rows("longformer_ablation")
        self.assertEqual(len(rows), 1 + len(table.ROWS))
        answers = [words for words in self.world.of("train") if "--eval-data" in words]
        for flag in ("--train-data", "--eval-data", "--batch-tokens", "--learning-rate"):
            self.assertEqual(len({value(words, flag) for words in answers}), 1, flag)
        self.assertEqual(sorted({int(value(words, "--steps")) for words in answers}), [table.STEPS, 3 * table.STEPS])
        self.assertEqual(sorted({int(value(words, "--max-length")) for words in answers}), [table.SHORT, 1024, table.LENGTH])
        begun = [pathlib.Path(value(words, "--model")).name for words in answers]
        self.assertEqual(begun.count(begun[0]), 4)  # the whole one, with more steps, and with 1,024 and 512 tokens
        self.assertEqual(len(set(begun)), len(table.ROWS) - 3)
        attention = [value(words, "--attention") for words in self.world.of("init")]
        self.assertEqual(len(set(attention)), len({row.attention for row in table.ROWS.values()}))

    def test_rows_learn_from_the_same_made_questions(self):
        table, _ = self.rows("longformer_ablation")
        made = [words for words in self.world.of("train") if "--eval-data" not in words]
        for tokens in (table.SHORT, table.LENGTH):
            alike = [words for words in made if int(value(words, "--max-length")) == tokens]
            for flag in ("--train-data", "--epochs", "--batch-tokens", "--learning-rate"):
                self.assertEqual(len({value(words, flag) for words in alike}), 1, flag)


if __name__ == "__main__":
    unittest.main()
