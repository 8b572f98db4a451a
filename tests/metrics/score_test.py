# SPDX-License-Identifier: Apache-2.0
"""`weft score`: its lines are those of sacrebleu, files may be gzip, tables or JSON lines, and what does not fit is one line."""

import gzip
import json
import lzma
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from weft_program import Case, environment, weft, weft_json  # noqa: E402

HYPOTHESES = "The weaver sits at the loom.\nIt rains, again: 3.5 hours!\n\nA thread is a thread .\n"
FIRST = "The weaver sat down at her loom.\nIt has been raining for 3.5 hours!\nnothing\nA thread is only a thread.\n"
SECOND = "A weaver sits at a loom.\nAgain it rains, 3.5 hours.\n\nA thread is a thread.\n"


class ScoreCase(Case):
    def setUp(self):
        super().setUp()
        for name, text in (("hyp", HYPOTHESES), ("first", FIRST), ("second", SECOND)):
            (self.folder / name).write_text(text)

    def line(self, *arguments):
        process = weft("score", *arguments, cwd=self.folder, env=environment(HF_HUB_DISABLE_PROGRESS_BARS="1"))
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(process.stderr, "")
        return process.stdout


class TranslationTest(ScoreCase):
    """Lines are those of `sacrebleu REF... -i HYP -m METRIC -f text -w 2`, version 2.6.0."""

    def test_bleu(self):
        self.assertEqual(self.line("bleu", "hyp", "first"), "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 19.66 71.4/44.4/20.0/4.2 (BP = 0.867 ratio = 0.875 hyp_len = 21 ref_len = 24)\n")
        self.assertEqual(self.line("bleu", "hyp", "first", "second", "--confidence", "--samples", "200"),
                         "BLEU|nrefs:2|bs:200|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 48.89 (μ = 46.84 ± 39.84) 85.7/66.7/40.0/25.0 (BP = 1.000 ratio = 1.000 hyp_len = 21 ref_len = 21)\n")
        self.assertEqual(self.line("bleu", "hyp", "first", "--lowercase", "--words", "char", "--smoothing", "floor").split(" = ")[0],
                         "BLEU|nrefs:1|case:lc|eff:no|tok:char|smooth:floor[0.10]|version:2.6.0")

    def test_two_systems(self):
        found = json.loads(self.line("bleu", "hyp", "first", "--baseline", "second", "--samples", "200", "--json"))
        other = json.loads(self.line("bleu", "second", "first", "--json"))
        self.assertEqual(found["baseline_score"], other["score"])
        self.assertEqual(found["difference"], found["score"] - other["score"])
        self.assertTrue(1 / 201 <= found["p_value"] <= 1)
        self.assertIn("(paired bootstrap, 1000 samples)", self.line("bleu", "hyp", "first", "--baseline", "second"))
        (self.folder / "short").write_text("a\nb\n")
        given = ("score", "bleu", self.folder / "hyp", self.folder / "first")
        self.assert_fails(weft(*given, "--baseline", self.folder / "short"), 1, "short")
        self.assert_fails(weft(*given, "--baseline", self.folder / "second", "--sentence-level"), 2, "--baseline", "--sentence-level")

    def test_chrf(self):
        self.assertEqual(self.line("chrf", "hyp", "first"), "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 47.29\n")
        self.assertEqual(self.line("chrf", "hyp", "first", "second", "--word-order", "2", "--confidence"),
                         "chrF2++|nrefs:2|bs:1000|seed:12345|case:mixed|eff:yes|nc:6|nw:2|space:no|version:2.6.0 = 67.26 (μ = 66.58 ± 24.70)\n")

    def test_files_of_any_kind_have_the_same_texts(self):
        expected = self.line("bleu", "hyp", "first")
        (self.folder / "first.gz").write_bytes(gzip.compress(FIRST.encode()))
        (self.folder / "hyp.jsonl").write_text("".join(json.dumps({"id": 1, "out": text}) + "\n" for text in HYPOTHESES.splitlines()))
        (self.folder / "first.jsonl").write_text("".join(json.dumps({"out": text}) + "\n" for text in FIRST.splitlines()))
        (self.folder / "hyp.crlf").write_bytes(HYPOTHESES.replace("\n", "  \r\n").encode())
        self.assertEqual(self.line("bleu", "hyp.crlf", "first.gz"), expected)
        self.assertEqual(self.line("bleu", "hyp.jsonl", "first.jsonl", "--text-field", "out"), expected)
        self.assertEqual(weft("score", "bleu", "-", self.folder / "first", input=HYPOTHESES).stdout, expected)

    def test_each_text_by_itself(self):
        found = [json.loads(line) for line in self.line("bleu", "hyp", "second", "--sentence-level", "--json").splitlines()]
        self.assertEqual([entry["score"] for entry in found][2:], [0.0, found[3]["score"]])
        self.assertGreater(found[3]["score"], 99.9)
        self.assertIn("eff:yes", found[0]["signature"])
        self.assert_fails(weft("score", "chrf", self.folder / "hyp", self.folder / "first", "--sentence-level", "--confidence"), 2, "--sentence-level")

    def test_mistakes_are_one_line(self):
        (self.folder / "short").write_text("a\nb\n")
        (self.folder / "odd").write_bytes(b"a\n\xff\nc\nd\n")
        (self.folder / "empty").write_text("")

        def fails(code, *words, files=("hyp", "first"), metric="bleu", more=()):
            self.assert_fails(weft("score", metric, *(self.folder / name for name in files), *more), code, *words)

        fails(1, "hyp' has 4 texts", "short' has 2", "hint", files=("hyp", "first", "short"))
        fails(1, "short' has 2 texts", "hyp' has 4", files=("short", "hyp"))
        fails(1, "odd' line 2", "UTF-8", files=("hyp", "odd"))
        fails(1, "empty' has no text", files=("empty", "empty"))
        fails(1, "absent", "No such file", files=("hyp", "absent"))
        fails(2, "--samples", "--confidence", more=("--samples", "5"))
        fails(2, "--text-field", "--format", more=("--text-field", "out"))
        fails(2, "--words", "13a", more=("--words", "moses"))
        for smoothing, value, words in (("add-k", "inf", "at most"), ("floor", "1e308", "at most"), ("floor", "-0.5", "must be -1, or at least 0"),
                                        ("exp", "3", "is for smoothing by floor and add-k"), ("none", "3", "found none")):
            self.assert_fails(weft("score", "bleu", self.folder / "hyp", self.folder / "first", "--smoothing", smoothing, "--smoothing-value", value),
                              2, "--smoothing-value", words)
        self.assert_fails(weft("score", "bleu", self.folder / "hyp"), 2)
        self.assert_fails(weft("score", "bleu", "-", "-", input="a\n"), 2, "standard input")

    def test_tokens_are_noticed(self):
        (self.folder / "tokens").write_text("a thread .\n" * 100)
        process = weft("score", "bleu", self.folder / "tokens", self.folder / "tokens")
        self.assertIn("100 hypotheses end in ' .'", process.stderr)
        process = weft("score", "bleu", self.folder / "tokens", self.folder / "tokens", "--baseline", self.folder / "tokens")
        self.assertIn("100 hypotheses end in ' .'", process.stderr)

    def test_objects_without_a_text_are_no_lines_of_text(self):
        lines = "".join(json.dumps({"result": [{"translation_text": text}]}) + "\n" for text in HYPOTHESES.splitlines())
        self.assert_fails(weft("score", "bleu", "-", self.folder / "first", input=lines), 1, "standard input: begins with a JSON object", "--format lines")
        self.assertEqual(weft("score", "bleu", "-", self.folder / "first", "--format", "lines", input=lines).returncode, 0)
        (self.folder / "laughs").write_text("{ laughs } hello there\n")
        process = weft("score", "bleu", self.folder / "laughs", self.folder / "laughs")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("begins with '{', but not of a record; each line is read as a text", process.stderr)

    def test_two_columns_of_one_name(self):
        (self.folder / "two.csv").write_text("id,text,text\n1,a,b\n")
        for command in (("score", "bleu", self.folder / "two.csv", self.folder / "two.csv"), ("data", "check", self.folder / "two.csv"),
                        ("summarize", "--method", "lead", "--file", self.folder / "two.csv")):
            self.assert_fails(weft(*command), 1, "two columns have the name 'text'")


class SummaryTest(ScoreCase):
    def test_rouge(self):
        self.assertEqual(weft_json("score", "rouge", self.folder / "hyp", self.folder / "first"), json.loads("""{"summaries": 4, "rouge1": {"precision": 0.625, "recall": 0.5074404761904762, "fmeasure": 0.5596903096903096}, "rouge2": {"precision": 0.3375, "recall": 0.26309523809523805, "fmeasure": 0.2954545454545454}, "rougeL": {"precision": 0.625, "recall": 0.5074404761904762, "fmeasure": 0.5596903096903096}, "rougeLsum": {"precision": 0.625, "recall": 0.5074404761904762, "fmeasure": 0.5596903096903096}}"""))
        table = self.line("rouge", "hyp", "first", "--no-stemmer", "--confidence")
        self.assertEqual([row.split()[0] for row in table.splitlines()], ["rouge1", "rouge2", "rougeL", "rougeLsum"])
        (self.folder / "marked").write_text("the loom<n>a thread\n")
        (self.folder / "turned").write_text("a thread<n>the loom\n")
        found = weft_json("score", "rouge", self.folder / "marked", self.folder / "turned", "--sentence-mark", "<n>")
        self.assertEqual((found["rougeLsum"]["fmeasure"], found["rougeL"]["fmeasure"]), (1.0, 0.5))


class AlignmentTest(ScoreCase):
    def test_error_rate(self):
        (self.folder / "found").write_text("0-0 1-1 2-2\n\n")
        (self.folder / "gold").write_text("1-1 2p2 3-3 2p3\n\n")
        found = weft_json("score", "aer", self.folder / "found", self.folder / "gold", "--reference-from-one")
        self.assertEqual(found, {"name": "AER", "score": 0.0, "precision": 1.0, "recall": 1.0, "sentences": 2})
        self.assertIn("AER", self.line("aer", "found", "gold"))
        (self.folder / "gold").write_text("1-1\n1:2\n")
        self.assert_fails(weft("score", "aer", self.folder / "found", self.folder / "gold"), 1, "line 2", "'1:2'")
        # The file that has the fault is named, and the other one says which line it is beside.
        self.assert_fails(weft("score", "aer", "found", "gold", cwd=self.folder), 1, "'gold', beside 'found' line 2: ", "'1:2'")
        self.assert_fails(weft("score", "aer", "gold", "found", cwd=self.folder), 1, "error: 'gold' line 2: ", "'1:2'")
        self.assert_fails(weft("score", "aer", "found", "-", cwd=self.folder, input="1-1\n1:2\n"), 1, "error: standard input, beside 'found' line 2: ")
        (self.folder / "gold").write_text("0-2147483648\n\n")
        self.assert_fails(weft("score", "aer", "found", "gold", cwd=self.folder), 1, "'gold', beside 'found' line 1", "'0-2147483648'", "at most 2147483647")
        (self.folder / "gold").write_text("0-2147483647 0-0\n\n")
        self.assertEqual(weft_json("score", "aer", self.folder / "found", self.folder / "gold")["recall"], 0.5)
        (self.folder / "none").write_text("\n\n")
        self.assert_fails(weft("score", "aer", self.folder / "none", self.folder / "none"), 1, "at least one link")


class QuestionTest(ScoreCase):
    """Against what the official programs said of the same files; tests/parity/open_answers_parity.py tries thousands."""

    COMMANDS = {"hotpot": ("hotpotqa", "predictions.json", "gold.json"), "trivia": ("triviaqa", "predictions.json", "gold.json"),
                "natural_questions": ("nq", "predictions.json", "gold.jsonl.gz")}

    def score(self, *arguments):
        return weft("score", *arguments, cwd=self.folder)

    def test_figures_are_those_of_the_official_programs(self):
        cases = json.loads((pathlib.Path(os.environ["WEFT_TEST_DATA_DIR"]) / "metrics/open_answers.json").read_text(encoding="utf-8"))
        for name, case in cases.items():
            for file, text in case["files"].items():
                (self.folder / file).write_bytes(gzip.compress(text.encode()) if file.endswith(".gz") else text.encode())
            columns = [f"{number}.jsonl" for number in range(len(case["files"]))]
            command = self.COMMANDS.get(name, ("sari", *columns[:-1], "--source", columns[-1]))
            found = json.loads(self.score(*command, "--json").stdout)
            self.assertEqual({figure: found.get(figure) for figure in case["expected"]}, case["expected"], name)

    def test_wikihop(self):
        (self.folder / "gold.json").write_text(json.dumps([{"id": "1", "answer": "a", "candidates": ["a", "b"]}, {"id": "2", "answer": "c", "candidates": ["c"]}]))
        (self.folder / "predictions.json").write_text(json.dumps({"1": "a"}))
        process = self.score("wikihop", "predictions.json", "gold.json", "--json")
        self.assertEqual(json.loads(process.stdout), {"accuracy": 0.5, "questions": 2, "missing": 1, "not_candidates": 0})
        self.assertIn("1 of 2 questions have no answer", process.stderr)
        self.assert_fails(weft("data", "check", self.folder / "gold.json", "--format", "wikihop"), 1, "question '1'", "'query'")

    def test_lines_of_eval_are_predictions(self):
        fact = ["A", 0]
        hotpot = {"_id": "q", "answer": "a b", "supporting_facts": [fact]}
        (self.folder / "hotpot.json").write_text(json.dumps([hotpot]))
        (self.folder / "wikihop.json").write_text(json.dumps([{"id": "q", "answer": "a b", "candidates": ["a b", "c"]}]))
        line = json.dumps({"file": "hotpot.json", "id": "q", "answer": "a b", "sp": [fact, ["B", 1]]}) + "\n"
        (self.folder / "lines.jsonl").write_text(line)
        found = json.loads(self.score("hotpotqa", "lines.jsonl", "hotpot.json", "--json").stdout)
        self.assertEqual((found["em"], found["sp_em"], found["sp_prec"], found["joint_recall"]), (1.0, 0.0, 0.5, 1.0))
        self.assertEqual(json.loads(self.score("wikihop", "lines.jsonl", "wikihop.json", "--json").stdout)["accuracy"], 1.0)
        (self.folder / "lines.jsonl").write_text(line * 2)
        self.assert_fails(self.score("wikihop", "lines.jsonl", "wikihop.json"), 1, "lines.jsonl' line 2", "question 'q'", "already")
        (self.folder / "lines.jsonl").write_text('{"id": "q", "answer": "a"}\n')
        self.assert_fails(self.score("hotpotqa", "lines.jsonl", "hotpot.json"), 1, "line 1", "'sp'")
        page = {"long_answer": {"start_token": 0, "end_token": 3}, "short_answers": [], "yes_no_answer": "NONE"}
        (self.folder / "nq.jsonl").write_text(json.dumps({"example_id": 1, "annotations": [page, page]}) + "\n")
        line = json.dumps(page | {"example_id": 1, "long_answer_score": 1.5, "short_answers_score": 0, "file": "x"}) + "\n"
        (self.folder / "lines.jsonl").write_text(line)
        self.assertEqual(json.loads(self.score("nq", "lines.jsonl", "nq.jsonl", "--json").stdout)["long-best-threshold"], 1.5)
        (self.folder / "lines.jsonl").write_text(line * 2)
        self.assert_fails(self.score("nq", "lines.jsonl", "nq.jsonl"), 1, "lines.jsonl' line 2", "question 1", "already")
        (self.folder / "whole.json").write_text(json.dumps({"predictions": [json.loads(line) | {"long_answer_score": float("nan")}]}))
        self.assert_fails(self.score("nq", "whole.json", "nq.jsonl"), 1, "whole.json', prediction 1", "'long_answer_score', found NaN")
        for wrong, *words in (({"long_answer_score": float("inf")}, "'long_answer_score', found Infinity"), ({"short_answers_score": float("-inf")}, "'short_answers_score', found -Infinity"),
                              ({"yes_no_answer": "YES", "short_answers": [{"start_token": 1, "end_token": 2}]}, "(question 1)", "'yes_no_answer'", "'short_answers'", "found YES and spans"),
                              ({"long_answer": {"start_token": 0, "end_token": 3.0}}, "(question 1)", "'end_token'", "number '3.0'")):
            (self.folder / "whole.json").write_text(json.dumps({"predictions": [json.loads(line) | wrong]}))
            self.assert_fails(self.score("nq", "whole.json", "nq.jsonl"), 1, "whole.json', prediction 1", *words)
        (self.folder / "lines.jsonl").write_text('{"answer": "a"}\n')
        self.assert_fails(self.score("wikihop", "lines.jsonl", "wikihop.json"), 1, "line 1", "'id'")

    def test_a_question_stands_once(self):
        question = {"_id": "q", "answer": "a", "supporting_facts": []}
        (self.folder / "predictions.json").write_text('{"answer": {}, "sp": {}}')
        (self.folder / "gold.json").write_text(json.dumps([question]))
        (self.folder / "twice.json").write_text(json.dumps([question, question]))
        self.assert_fails(self.score("hotpotqa", "predictions.json", "twice.json"), 1, "twice.json' line 1", "question 'q': ", "an id that no question before has")
        (self.folder / "again.json").write_text(json.dumps([question]))
        self.assert_fails(self.score("hotpotqa", "predictions.json", "gold.json", "again.json"), 1, "again.json", "question 'q' stands twice in the gold files")

    def test_one_annotator_is_too_few(self):
        page = {"long_answer": {"start_token": 0, "end_token": 3}, "short_answers": [], "yes_no_answer": "NONE"}
        (self.folder / "gold.jsonl").write_text("".join(json.dumps({"example_id": number, "annotations": [page] * number}) + "\n" for number in (1, 2)))
        (self.folder / "lines.jsonl").write_text("".join(json.dumps(page | {"example_id": number, "long_answer_score": 1, "short_answers_score": 0}) + "\n" for number in (1, 2)))
        process = self.score("nq", "lines.jsonl", "gold.jsonl", "--json")
        self.assertEqual(json.loads(process.stdout)["long-all-precision"], 0.5)
        self.assertEqual(process.stderr.count("warning"), 1, process.stderr)
        self.assertIn("1 of 2 questions have fewer than 2 annotators", process.stderr)

    def test_predictions_come_in_any_file(self):
        (self.folder / "gold.json").write_text(json.dumps([{"_id": "q", "answer": "a b", "supporting_facts": [["A", 0]]}, {"_id": "r", "answer": "c", "supporting_facts": [["A", 0]]}]))
        answers = {"q": "a b", "r": "c"}
        whole = json.dumps({"answer": answers, "sp": {name: [["A", 0]] for name in answers}}, indent=1)
        lines = [json.dumps({"id": name, "answer": text, "sp": [["A", 0]]}) + "\n" for name, text in answers.items()]
        texts = {"whole.json": whole, "whole": whole, "lines.jsonl": "".join(lines), "lines.JSONL": "".join(lines), "lines.ndjson": "".join(lines), "lines.json": "\n" + "".join(lines)}
        for name, text in texts.items():
            for packed, content in (("", text.encode()), (".gz", gzip.compress(text.encode())), ("", text.encode("utf-16"))):
                (self.folder / (name + packed)).write_bytes(content)
                with self.subTest(name + packed):
                    self.assertEqual(json.loads(self.score("hotpotqa", name + packed, "gold.json", "--json").stdout)["joint_em"], 1.0)
        for text, joint in ((whole, 1.0), ("".join(lines), 1.0), (lines[0], 0.5)):
            process = weft("score", "hotpotqa", "-", "gold.json", "--json", cwd=self.folder, input=text)
            self.assertEqual(json.loads(process.stdout)["joint_em"], joint, process.stderr)
        (self.folder / "whole.json.xz").write_bytes(lzma.compress(whole.encode()))
        self.assert_fails(self.score("hotpotqa", "whole.json.xz", "gold.json"), 1, "is compressed with xz", "xz --decompress")
        self.assert_fails(weft("score", "hotpotqa", "-", "gold.json", cwd=self.folder, input=""), 1, "standard input")

    def test_mistakes_are_one_line(self):
        def fails(metric, predictions, gold, *words):
            (self.folder / "predictions.json").write_text(predictions)
            (self.folder / "gold.json").write_text(gold)
            self.assert_fails(self.score(metric, "predictions.json", "gold.json"), 1, *words)

        fails("hotpotqa", '{"id": 1, "answer": "x", "sp": []}', "[]", "line 1", "'id'", "number")
        fails("hotpotqa", '{"_id": "q", "answer": "x", "sp": []}', "[]", "line 1", "'id'", "none")
        fails("hotpotqa", '{"answer": {}}', "[]", "predictions.json", "'sp'", "none")
        fails("hotpotqa", '{"answer": {}, "sp": {"q": [["A"]]}}', "[]", "question 'q'", "[title, number")
        fails("triviaqa", '{"q": 1}', "{}", "'q'", "string")
        gold = '{"example_id": 1, "annotations": [{"long_answer": {"start_token": -1, "end_token": -1}, "short_answers": [], "yes_no_answer": "NONE"}]}\n'
        fails("nq", '{"predictions": []}', gold, "question 1 has no prediction")
        page = {"example_id": 1, "long_answer": {"start_token": -1, "end_token": -1}, "long_answer_score": 0, "short_answers": [], "short_answers_score": 0, "yes_no_answer": "NONE"}
        fails("nq", json.dumps({"predictions": [page]}), 2 * gold, "gold.json' line 2", "question 1: ", "an id that no question before has")
        fails("nq", json.dumps({"predictions": [page, page | {"example_id": 2}]}), gold, "question 2 belongs to no question")
        # What counts of TriviaQA is in the file itself, and may be nothing.
        trivia = {"Data": [{"QuestionId": "q", "Answer": {"NormalizedAliases": ["a"]}, "EntityPages": [{"Filename": "a.txt"}], "QuestionPartOfVerifiedEval": False}], "VerifiedEval": True}
        fails("triviaqa", "{}", json.dumps(trivia | {"Domain": "Wikipedia"}), "gold.json", "'QuestionPartOfVerifiedEval' true", "'VerifiedEval' is true", "none among 1")
        fails("triviaqa", "{}", json.dumps(trivia | {"Domain": "Web"}), "gold.json", "'DocPartOfVerifiedEval' true", "none among 1")
        del trivia["Data"][0]["EntityPages"]
        fails("triviaqa", "{}", json.dumps(trivia | {"Domain": "Web", "VerifiedEval": False}), "gold.json", "'EntityPages' or 'SearchResults'", "'Domain' is \"Web\"", "none among 1")
        # What a gold file says nothing of cannot be scored; the message names the file, one of maybe many.
        empty = {"hotpotqa": "[]", "wikihop": "[]", "nq": "", "triviaqa": '{"Data": [], "Domain": "Wikipedia", "VerifiedEval": false}'}
        for metric, text in empty.items():
            fails(metric, '{"answer": {}, "sp": {}}' if metric == "hotpotqa" else '{"predictions": []}' if metric == "nq" else "{}", text, "gold.json", "no question")
        self.assert_fails(self.score("sari", "hyp", "first"), 2, "--source")

    def test_a_blank_before_a_text_is_an_empty_word_of_sari(self):
        def sari(first):
            for name, text in (("source", first + " a\n"), ("hyp", first + " a b\n"), ("first", "a b\n")):
                (self.folder / name).write_text(text)
            return json.loads(self.score("sari", "hyp", "first", "--source", "source", "--json").stdout)
        self.assertEqual(sari(""), sari("x"))


if __name__ == "__main__":
    unittest.main()
