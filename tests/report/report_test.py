# SPDX-License-Identifier: Apache-2.0
"""A run as a page, runs side by side, one run from several seeds, and the best model of a run."""

import html.parser
import json
import pathlib
import shlex
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from weft_program import Case, environment, losses, weft, weft_json  # noqa: E402


class Page(html.parser.HTMLParser):
    """What a page is made of, and whether it asks for anything beside itself."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.sources, self.text, self.open, self.rows = [], [], "", [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in ("meta", "img", "line", "path", "circle"):
            self.open.append(tag)
        self.sources += [value for name, value in attributes if name in ("src", "href")]

    def handle_endtag(self, tag):
        if tag in self.open:
            self.open.remove(tag)

    def handle_data(self, data):
        self.text += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


class ReportTest(Case):
    def test_a_page_needs_nothing_beside_itself(self):
        self.train("--steps", "12", "--eval-text", self.held_out, "--eval-every", "4", "--best-metric", "bits_per_byte")
        printed = weft("report", self.run_directory)
        self.assertEqual(printed.stdout.strip(), str(self.run_directory / "report.html"))
        page = Page((self.run_directory / "report.html").read_text())
        self.assertEqual(page.open, [], "every tag is closed")
        self.assertTrue(all(source.startswith("data:") for source in page.sources))
        self.assertGreaterEqual(page.tags.count("svg"), 4)
        self.assertIn("circle", page.tags, "evaluations are few: each has its dot")
        self.assertEqual(page.tags.count("img"), 1, "the pattern of both layers")
        for words in ("bits_per_byte", "best", "weft train", "learning_rate", "num_hidden_layers", "window(left=8)"):
            self.assertIn(words, page.text)

    def test_one_evaluation_draws_no_empty_axes(self):
        self.train("--steps", "12", "--eval-text", self.held_out)
        weft_json("report", self.run_directory)
        written = (self.run_directory / "report.html").read_text()
        page = Page(written)
        drawings = written.split("<svg")[1:]
        self.assertEqual(len(drawings), page.tags.count("svg"))
        self.assertTrue(all("L" in drawing.split('<path d="')[1].split('"')[0] for drawing in drawings), "a line in every drawing")
        for name in ("bits_per_byte", "characters", "tokens", "bytes", "context", "seconds"):
            self.assertNotIn(f"evaluation: {name}", page.text)
            self.assertNotIn(f"training: {name}\n", page.text)
        self.assertIn("bits_per_byte", page.text)
        # ASCII has a byte a character: one figure, one name. The last evaluation is the only one, and so no best besides.
        self.assertNotIn("bits_per_character", page.text)
        self.assertNotRegex(page.text, r"\d\.\d{7}", "figures are rounded")

    def test_a_page_names_settings_that_its_run_reads(self):
        self.train("--steps", "2", "--optimizer", "adafactor")
        weft_json("report", self.run_directory)
        page = Page((self.run_directory / "report.html").read_text())
        for read in ("learning_rate", "relative_steps", "steps"):
            self.assertIn(read, page.text)
        for passed_over in ("mask_probability", "masking", "span_boundary_objective", "beta2", "minutes", "epochs"):
            self.assertNotIn(passed_over, [row[0] for row in page.rows])

    def test_a_path_with_a_slash_at_its_end_is_the_same_run(self):
        self.train("--steps", "2")
        found = weft_json("report", f"{self.run_directory}/")
        self.assertTrue(found["command"].endswith(f"--out {self.run_directory}-again"))
        self.assertIn(f"Weft: {self.run_directory.name}", (self.run_directory / "report.html").read_text())

    def test_the_command_makes_the_run_again(self):
        self.train("--steps", "5", "--learning-rate", "0.002", "--seed", "4")
        found = weft_json("report", self.run_directory, "--out", self.folder / "page.html")
        self.assertTrue((self.folder / "page.html").exists())
        words = shlex.split(found["command"])
        self.assertEqual(words[:2], ["weft", "train"])
        again = weft(*words[1:])
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(losses(f"{self.run_directory}-again"), losses(self.run_directory))

    def assert_made_again(self, name, *arguments):
        run = self.folder / name
        made = weft("train", *arguments, "--threads", "1", "--dtype", "float32", "--out", run)
        self.assertEqual(made.returncode, 0, made.stderr)
        again = weft(*shlex.split(weft_json("report", run)["command"])[1:])
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(losses(f"{run}-again"), losses(run))
        return run

    def test_the_command_makes_runs_of_pairs_again(self):
        pairs = self.folder / "pairs.tsv"
        pairs.write_text("source\ttarget\n" + "a red house\tein rotes Haus\na cat\teine Katze\nthe book\tdas Buch\n" * 3)
        data = ("--train-data", pairs, "--batch-tokens", "40", "--steps", "3")
        shape = ("--width", "16", "--layers", "1", "--heads", "2", "--vocabulary-size", "270")
        first = self.assert_made_again("first", "--task", "translate", *data, *shape, "--encoder-attention", "window(4)", "--optimizer", "lamb", "--eval-data",
                                       pairs, "--eval-beams", "2", "--max-source-positions", "64")
        self.assert_made_again("further", "--task", "translate", "--model", first, *data, "--dropout", "0.4", "--warmup-steps", "2")
        self.assert_made_again("repairs", "--task", "denoise", "--noise", "mask", "--train-text", pairs, *data[2:], *shape, "--truncate")

    def test_the_command_makes_a_run_from_an_encoder_again(self):
        text = ("--task", "mlm", "--train-text", self.train_text, "--steps", "2", "--context", "16")
        first = self.assert_made_again("first", *text, "--batch-size", "2", "--width", "16", "--layers", "1", "--heads", "2")
        self.assert_made_again("further", *text, "--batch-size", "32", "--model", first)

    def test_what_is_no_run_is_refused(self):
        self.assert_fails(weft("report", self.folder), 1, "training.json")
        self.assert_fails(weft("compare", self.folder), 1, "training.json")

    def test_runs_are_compared(self):
        for seed in ("1", "2"):
            self.train("--steps", "5", "--seed", seed, "--eval-text", self.held_out, out=self.folder / seed)
        rows = weft_json("compare", self.folder / "1", self.folder / "2")
        self.assertEqual([row["steps"] for row in rows], [5, 5])
        self.assertEqual([row["settings"] for row in rows], [{"seed": 1}, {"seed": 2}])
        self.assertNotEqual(rows[0]["eval bits_per_byte"], rows[1]["eval bits_per_byte"])
        table = weft("compare", self.folder / "1", self.folder / "2").stdout
        lines = [line.split() for line in table.splitlines()]
        self.assertEqual(lines[0], ["1", "2"], "a column a run, without the folder that they share")
        self.assertIn(["seed", "1", "2"], lines)
        self.assertIn(["steps", "5", "5"], lines)
        self.assertNotIn("learning_rate", table)
        best = min(rows, key=lambda row: row["eval bits_per_byte"])
        bits = next(line for line in lines if line[:1] == ["bits_per_byte"])
        self.assertEqual(bits[2:].index("*"), rows.index(best), f"the star is behind the smaller one: {bits}")
        everything = weft("compare", self.folder / "1", self.folder / "2", "--all").stdout
        self.assertRegex(everything, r"learning_rate +0.001 +0.001")
        settings = weft_json("compare", self.folder / "1", self.folder / "2", "--all")[0]["settings"]
        self.assertEqual((settings["seed"], settings["learning_rate"]), (1, 0.001))

    def test_a_run_by_minutes_shows_the_steps_that_it_took(self):
        self.train("--minutes", "0.02", out=self.folder / "timed")
        self.train("--steps", "3", out=self.folder / "counted")
        taken = losses(self.folder / "timed")[-1][0]
        self.assertGreater(taken, 0)
        lines = [line.split() for line in weft("compare", self.folder / "timed", self.folder / "counted").stdout.splitlines()]
        self.assertIn(["steps", f"{taken:,}", "3"], lines)
        self.assertIn(["minutes", "0.02", "-"], lines)

    def test_many_runs_fit_the_terminal(self):
        self.train("--steps", "1", out=self.folder / "run")
        for number in range(12):
            copy = self.folder / f"a-run-with-a-long-name-{number}"
            shutil.copytree(self.folder / "run", copy)
            settings = json.loads((copy / "training.json").read_text())
            settings["seed"] = number
            settings["best_metric"] = "\x1b[31mred"
            (copy / "training.json").write_text(json.dumps(settings))
        runs = sorted(self.folder.glob("a-run*"))
        for width in (40, 80, 200):
            table = weft("compare", *runs, env=environment(COLUMNS=str(width))).stdout
            self.assertLessEqual(max(map(len, table.splitlines())), width)
            seeds = [word for line in table.splitlines() if line.startswith("seed ") for word in line.split()[1:]]
            self.assertEqual(sorted(seeds, key=int), [str(number) for number in range(12)])
        shown = weft("compare", *runs, "--all").stdout
        self.assertNotIn("\x1b", shown)
        self.assertIn("\\x1b[31mred", shown)

    def test_the_command_names_a_tokeniser_of_words(self):
        words = self.folder / "words"
        words.mkdir()
        (words / "vocab.json").write_text(json.dumps({"<eos>": 0, "<unk>": 1, "graph": 2, "token": 3}))
        (words / "config.json").write_text(json.dumps({"model_type": "transfo-xl"}))
        self.train("--steps", "1", "--tokenizer", words)
        command = weft_json("report", self.run_directory, "--out", self.folder / "run.html")["command"]
        self.assertIn(f"--tokenizer {self.run_directory} ", command)
        self.assertEqual(weft(*shlex.split(command)[1:]).returncode, 0)

    def test_seeds_repeat_a_run(self):
        arguments = self.train_arguments(self.run_directory, "--steps", "5", "--seed", "7", "--seeds", "3", "--eval-text",
                                         self.held_out)
        report = weft_json(*arguments)
        self.assertEqual(report, json.loads((self.run_directory / "seeds.json").read_text()))
        values = report["figures"]["bits_per_byte"]["values"]
        mean = sum(values) / 3
        self.assertAlmostEqual(report["figures"]["bits_per_byte"]["mean"], mean, 12)
        deviation = (sum((value - mean) ** 2 for value in values) / 2) ** 0.5
        self.assertAlmostEqual(report["figures"]["bits_per_byte"]["deviation"], deviation, 12)
        self.assertEqual(len(set(values)), 3)
        again = weft_json("train", "--resume", "--out", self.run_directory, "--seed", "7", "--seeds", "3")
        self.assertEqual(again["figures"]["bits_per_byte"], report["figures"]["bits_per_byte"])

    def test_the_best_model_can_be_used(self):
        self.train("--steps", "12", "--eval-text", self.held_out, "--eval-every", "4", "--best-metric", "bits_per_byte")
        best = json.loads((self.run_directory / "best/best.json").read_text())
        found = weft_json("eval", self.run_directory / "best", "--text", self.held_out, "--dtype", "float32")
        self.assertAlmostEqual(found["bits_per_byte"], best["value"], 4)
        wrong = weft(*self.train_arguments(self.folder / "wrong", "--steps", "4", "--eval-text", self.held_out,
                                           "--best-metric", "f1"))
        self.assert_fails(wrong, 2, "--best-metric", "bits_per_byte")


if __name__ == "__main__":
    unittest.main()
