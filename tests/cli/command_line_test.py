# SPDX-License-Identifier: Apache-2.0
"""The command line as such: help, version, misuse, and what it says then."""

import os
import re
import shutil
import subprocess
import unittest

from weft_program import BINARY, Case, environment, weft, weft_json

COMMANDS = (["train"], ["eval"], ["generate"], ["info"], ["pattern"], ["pattern", "show"], ["version"])


class HelpTest(Case):
    def test_help_lists_every_command(self):
        process = weft("--help")
        self.assertEqual(process.returncode, 0)
        for command in COMMANDS:
            self.assertIn(command[0], process.stdout)
        self.assertIn("Exit codes", process.stdout)

    def test_every_command_explains_itself_with_an_example(self):
        for command in COMMANDS:
            process = weft(*command, "--help")
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertIn("Examples:\n  weft " + command[0], process.stdout)
            self.assertLess(max(map(len, process.stdout.splitlines())), 130)
            self.assertNotIn("{false}", process.stdout)

    def test_help_names_ranges_choices_and_defaults(self):
        text = weft("train", "--help-all").stdout
        for part in ("--layers, --num-hidden-layers", "auto|float32|bfloat16", "default 0.001", "--checkpoint-every", "0 to 10"):
            self.assertIn(part, text)
        self.assertIn("Examples:\n  weft train", text)

    def test_help_is_a_word_too(self):
        for words in ([], ["train"], ["pattern", "show"], ["train", "--task", "classify"]):
            process = weft("help", *words)
            self.assertEqual((process.returncode, process.stderr, process.stdout), (0, "", weft(*words, "--help").stdout), words)
        self.assertEqual(weft("help", "help").stdout, weft("--help").stdout)
        self.assertEqual(weft("--help-all", "help", "data").stdout, weft("data", "--help-all").stdout)

    def test_help_of_what_is_no_command_names_it(self):
        for words, wrong, near in ((["trainn"], "trainn", "train"), (["trainn", "--task", "classify"], "trainn", "train"),
                                   (["data", "treees"], "treees", "trees"), (["bench", "atention"], "atention", "attention"),
                                   (["pattern", "shw", "full"], "shw", "show")):
            for asked in (["help", *words], [*words, "--help"], ["--help", *words], [*words, "--help-all"]):
                self.assert_fails(weft(*asked), 2, f"has no command '{wrong}'", f"did you mean {near}?")
        self.assert_fails(weft("--nosuch", "word", "--help"), 2, "weft has no flag --nosuch")
        # Flags alone, and arguments of a command that has no others below it, are not in the way of its help.
        for words in (["--nosuch"], ["pattern", "--nosuch"], ["train", "word"], ["pattern", "show", "one", "two"]):
            self.assertEqual(weft(*words, "--help").returncode, 0, words)

    def test_help_begins_with_what_a_first_run_needs(self):
        usual = weft("train", "--help").stdout
        every = weft("train", "--help-all").stdout
        self.assertLess(len(usual.splitlines()), 80)
        self.assertGreater(len(every.splitlines()), 250)
        for part in ("--task classify, multilabel", "--train-text PATH", "--learning-rate", "`weft train --help-all` shows all",
                     "`weft train --task answer --help`", "--help-all"):
            self.assertIn(part, usual)
        self.assertNotIn("--axial-pos-shape", usual)
        # A task has its own flags, and no others.
        for task, flag, other in (("classify", "--label-field", "--train-source"), ("tag", "--train-data", "--label-field"),
                                  ("answer", "--max-answer-length", "--context"), ("translate", "--train-target", "--mask-probability"),
                                  ("mlm", "--masking", "--train-data"), ("lm", "--context", "--epochs")):
            text = weft("train", "--task", task, "--help").stdout
            self.assertLess(len(text.splitlines()), 100, task)
            self.assertRegex(text, rf"(?m)^  {flag}[ ,]", task)
            self.assertNotRegex(text, rf"(?m)^  {other}[ ,]", task)
            self.assertRegex(text, r"Examples:\n  weft train")
        # Whatever help leaves out, the flag works, is suggested and is completed.
        self.assert_fails(weft("train", "--out", "x", "--axial-pos-shap", "5"), 2, "did you mean --axial-pos-shape?")
        self.assertIn("--help-all", weft("completion", "bash").stdout)

    def test_help_is_as_wide_as_the_terminal(self):
        for columns in (60, 80, 200):
            for command in ([], ["train"], ["pattern", "show"], ["bench", "attention"]):
                text = weft(*command, "--help", env=environment(COLUMNS=str(columns))).stdout
                self.assertLessEqual(max(map(len, text.splitlines())), min(columns, 110), (columns, command))
                self.assertIn("Examples:", text)

    def test_what_an_argument_lacks_is_said_in_plain_words(self):
        for words, said in ((("score", "bleu", "h.txt"), "weft score bleu: expected at least 2 FILES, found 1"),
                            (("score", "bleu"), "weft score bleu: FILES is required"),
                            (("eval", "run", "--text"), "weft eval: --text needs a value"),
                            (("score", "chrf", "a", "b", "--beta"), "weft score chrf: --beta needs a value"),
                            (("average", "run", "--last"), "weft average: --last needs a value"),
                            (("summarize",), "weft summarize: DIR is required"),
                            (("average", "run", "--last", "x"), "weft average: --last must be a number from 1 to 1048576, found 'x'"),
                            (("eval", "run", "--threads", "x"), "--threads expects a whole number, found 'x'")):
            with self.subTest(words):
                process = weft(*words)
                self.assert_fails(process, 2, said)
                self.assertIn(f"weft: error: {said}\n", process.stderr)

    def test_version(self):
        self.assertRegex(weft("--version").stdout, r"^weft \d+\.\d+\.\d+\ncompiled by \S+ .* for LibTorch \d+\.\d+.*\n$")
        found = weft_json("version")
        self.assertEqual(set(found), {"weft", "libtorch", "cpu", "fast_bfloat16", "gpus"})


class MisuseTest(Case):
    def test_unknown_command_suggests_the_nearest(self):
        self.assert_fails(weft("trainn"), 2, "'trainn'", "did you mean train?")
        self.assert_fails(weft("pattern", "shw", "full"), 2, "did you mean show?")
        self.assert_fails(weft("cache", "rm"), 2, "weft cache has no command 'rm'", "its commands are list, verify, remove")
        # Though a word behind it is a command.
        self.assert_fails(weft("trainn", "--task", "classify"), 2, "weft has no command 'trainn'", "did you mean train?")
        self.assert_fails(weft("--treads", "4", "train"), 2, "has no flag --treads")

    def test_unknown_flag_suggests_the_nearest(self):
        self.assert_fails(weft("train", "--out", "x", "--stepz", "5"), 2, "--stepz", "did you mean --steps?")
        self.assert_fails(weft("eval", "x", "--max-byte=5"), 2, "--max-byte", "did you mean --max-bytes?")

    def test_unknown_choice_suggests_the_nearest(self):
        self.assert_fails(weft("train", "--out", "x", "--task", "clasify"), 2, "--task must be one of lm, mlm", "did you mean 'classify'?")
        self.assert_fails(weft("eval", "x", "--task", "clasify"), 2, "found 'clasify'", "did you mean 'classify'?")
        self.assert_fails(weft("train", "--out", "x", "--dtype", "floot32"), 2, "--dtype must be one of", "did you mean 'float32'?")
        self.assert_fails(weft("train", "--out", "x", "--task", "Classify"), 2, "found 'Classify'", "did you mean 'classify'?")
        self.assert_fails(weft("data", "check", "x.csv", "--format", "CSV"), 2, "found 'CSV'", "did you mean 'csv'?")
        self.assertNotIn("did you mean", weft("train", "--out", "x", "--task", "nope").stderr)
        config = self.folder / "choice.json"
        config.write_text('{"schedule": "cosin"}')
        process = weft("train", "--out", "x", "--train-text", self.train_text, "--steps", "1", "--config", config)
        self.assert_fails(process, 1, f"'{config}': schedule must be one of", "did you mean 'cosine'?")

    def test_errors_name_what_was_typed(self):
        arguments = ["train", "--out", self.run_directory, "--train-text", self.train_text]
        self.assert_fails(weft(*arguments, "--steps", "10", "--warmup-steps", "20"), 2, "--warmup-steps must be at most", "found 20")
        self.assert_fails(weft(*arguments, "--steps", "10", "--schedule", "inverse_sqrt", "--warmup-ratio", "0"), 2,
                          "--schedule inverse_sqrt needs warm-up")
        config = self.folder / "train.json"
        config.write_text('{"warmup_steps": 20}')
        self.assert_fails(weft(*arguments, "--steps", "10", "--config", config), 1, f"'{config}': warmup_steps must be at most")
        config.write_text('{"relative_steps": true}')
        self.assert_fails(weft(*arguments, "--steps", "10", "--config", config), 1, f"'{config}': relative_steps is for --optimizer adafactor, found 'adamw'")
        self.assert_fails(weft(*arguments, "--steps", "10", "--relative-steps"), 2, "weft train: --relative-steps is for --optimizer adafactor")
        self.assert_fails(weft("eval", "x", "--data", "y.tsv"), 1, "'x'")
        self.assert_fails(weft(*arguments, "--steps", "1", "--attention", "performer(feature=8)"), 1,
                          "weft train: --attention of layer 0: `performer` has no setting 'feature', there are features, map, orthogonal, redraw, seed")
        pairs = ["train", "--task", "translate", "--out", self.run_directory, "--train-source", self.train_text, "--train-target", self.train_text]
        self.assert_fails(weft(*pairs, "--steps", "1", "--decoder-attention", "linformer"), 2, "weft train: --decoder-attention of layer 0: `linformer(")
        bart = ["init", "--family", "bart", "--encoder-attention", "little_bird", "--out", self.folder / "bart"]
        self.assert_fails(weft(*bart), 2, "weft init: --encoder-attention of layer 0: `little_bird(")

    def test_errors_of_a_config_name_its_fields(self):
        model = self.folder / "littlebird"
        model.mkdir()
        (model / "config.json").write_text('{"model_type": "littlebird", "block_size": 0}')
        self.assert_fails(weft("embed", model, "a b. c", "--json"), 1, f"{model}/config.json: block_size must be at least 1, found 0")

    def test_nothing_and_too_much(self):
        nothing = weft()
        self.assert_fails(nothing, 2, "weft needs a command", "weft COMMAND --help")
        self.assertTrue(nothing.stderr.startswith(weft("--help").stdout), nothing.stderr)
        for part in ("Train and measure:\n  train  ", "Look into attention:\n  profile  "):
            self.assertIn(part, nothing.stderr)
        below = weft("pattern")
        self.assert_fails(below, 2, "weft pattern needs a command", "weft pattern COMMAND --help")
        self.assertRegex(below.stderr, r"(?m)^  show  ")
        self.assert_fails(weft("info"), 2, "DIR")
        self.assert_fails(weft("info", "a", "b"), 2, "'b'")

    def test_values_that_are_no_numbers(self):
        arguments = ["train", "--out", self.run_directory, "--train-text", self.train_text]
        self.assert_fails(weft(*arguments, "--steps", "ten"), 2, "--steps", "whole number", "'ten'")
        self.assert_fails(weft(*arguments, "--steps", "1.5"), 2, "--steps")
        self.assert_fails(weft(*arguments, "--steps", "99999999999999999999"), 2, "--steps")
        self.assert_fails(weft(*arguments, "--learning-rate", "fast"), 2, "--learning-rate")

    def test_values_out_of_range(self):
        arguments = ["train", "--out", self.run_directory, "--train-text", self.train_text, "--steps", "2"]
        self.assert_fails(weft(*arguments, "--learning-rate", "-1"), 2, "--learning-rate", "at least 0", "-1")
        self.assert_fails(weft(*arguments, "--dtype", "float8"), 2, "--dtype", "bfloat16", "'float8'")
        self.assert_fails(weft(*arguments, "--layers", "0"), 2, "--layers", "at least 1")

    def test_threads_from_the_environment(self):
        process = weft("info", self.run_directory, env=environment(WEFT_THREADS="many"))
        self.assert_fails(process, 1)
        process = weft("eval", self.run_directory, "--text", self.held_out, env=environment(WEFT_THREADS="many"))
        self.assert_fails(process, 2, "WEFT_THREADS", "'many'")

    def test_an_instruction_set_that_nobody_knows(self):
        for arguments in (("version",), ("pattern", "show", "full", "--length", "8")):
            self.assert_fails(weft(*arguments, env=environment(WEFT_ISA="foo")), 1, "WEFT_ISA must be one of scalar, generic", '"foo"')

    def test_a_full_disk_behind_stdout_is_an_error(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            process = subprocess.run([BINARY, "version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(process.returncode, 1)
        self.assertIn("weft: error: writing to standard output failed", process.stderr)


class ManualTest(Case):
    def test_pages_and_completions_of_every_command(self):
        process = weft("manual", self.folder / "share")
        self.assertEqual(process.returncode, 0, process.stderr)
        pages = {page.name for page in (self.folder / "share/man/man1").iterdir()}
        listed = re.findall(r"^  ([a-z-]+)  ", weft("--help").stdout.partition("Commands:")[2], re.MULTILINE)
        self.assertGreater(len(listed), 25)
        self.assertLessEqual({f"weft-{name}.1" for name in listed}, pages)
        self.assertIn("weft-pattern-show.1", pages)
        page = (self.folder / "share/man/man1/weft-train.1").read_text()
        self.assertIn(r"\fB\-\-learning\-rate\fR \fIX\fR", page)
        if shutil.which("mandoc"):
            wrong = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *sorted((self.folder / "share/man/man1").iterdir())],
                                   capture_output=True, text=True, check=False).stdout
            self.assertNotRegex(wrong, "ERROR|UNSUPP")
        self.assert_fails(weft("completion", "tcsh"), 2, "SHELL must be one of bash, zsh, fish, found 'tcsh'")
        taken = self.folder / "taken"
        taken.write_text("")
        self.assert_fails(weft("manual", taken), 1, "cannot make the folder", "Not a directory")

    def completed(self, *words):
        """What bash offers behind these words; the last one is begun."""
        script = f"""source <({BINARY} completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weft; printf '%s\\n' "${{COMPREPLY[@]}}\""""
        return subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=True, cwd=self.folder,
                              env=environment()).stdout.split()

    def test_bash_completes_commands_flags_choices_and_files(self):
        self.assertEqual(self.completed("weft", "trai"), ["train"])
        self.assertEqual(self.completed("weft", "pattern", "sh"), ["show"])
        self.assertIn("--optimizer", self.completed("weft", "train", "--opt"))
        self.assertEqual(self.completed("weft", "train", "--optimizer", "a"), ["adamw", "adafactor"])
        self.assertEqual(self.completed("weft", "train", "--train-text", "held"), ["held-out.txt"])
        self.assertEqual(self.completed("weft", "eval", "held"), ["held-out.txt"])
        self.assertIn("--zoom", self.completed("weft", "pattern", "show", "full", "--z"))

    def test_other_shells_can_read_theirs(self):
        for shell, check in (("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])):
            script = self.folder / shell
            script.write_text(weft("completion", shell).stdout)
            self.assertIn("adafactor", script.read_text())
            if shutil.which(shell):
                subprocess.run([*check, script], check=True, env=environment(HOME=str(self.folder)))


class OverwrittenInputTest(Case):
    """An output that is one of the inputs is refused before anything is computed, by whatever path it is named, and nothing is lost."""

    def assert_kept(self, file, *arguments):
        before = file.read_bytes()
        self.assert_fails(weft(*arguments, cwd=self.folder), 2, file.name, "is read, and", "give another file")
        self.assertEqual(file.read_bytes(), before)

    def test_commands_that_write_a_file(self):
        text, genome = self.folder / "a.txt", self.folder / "a.fa"
        text.write_text("the loom said hello\n")
        genome.write_text(">one\nACGTACGT\n")
        (self.folder / "other").mkdir()
        link = self.folder / "link.txt"
        link.symlink_to(text)
        hard = self.folder / "hard.txt"
        os.link(text, hard)
        self.assert_kept(genome, "data", "genome", "a.fa", "--out", "a.fa")
        for same in ("a.txt", "./a.txt", "other/../a.txt", text, "link.txt", "hard.txt"):
            self.assert_kept(text, "data", "noise", "a.txt", "--out", same)
        for flag in ("--token-scores", "--predictions"):
            self.assert_kept(text, "eval", "no-model", "--text", "a.txt", flag, "a.txt")
        self.assert_kept(text, "profile", "no-model", "--text", "a.txt", "--out", "a.txt")
        for flag in ("--svg", "--png"):
            self.assert_kept(text, "attention", "no-model", "--file", "a.txt", flag, "a.txt")
        self.assert_kept(text, "align", "no-model", "--source", "a.txt", "--target", "b.txt", "--out", "a.txt")

    def test_trees_whose_files_begin_with_a_name(self):
        tree = "(ROOT\n (S (NP-SBJ (-NONE- *))\n (VP (VB Go))))\n"
        for name in ("q.gold", "q.words", "q"):
            (self.folder / name).write_text(tree)
        self.assert_kept(self.folder / "q.gold", "data", "trees", "q.gold", "--out", "./q")
        self.assert_kept(self.folder / "q.words", "data", "trees", ".", "--out", "q")
        for file in ("q.gold", "q.words"):
            (self.folder / file).unlink()
        process = weft("data", "trees", "q", "--out", "q", cwd=self.folder)  # q itself is not written
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual((self.folder / "q").read_text(), tree)
        for label in ("", "(", "A B"):
            self.assert_fails(weft("data", "trees", "q", "--out", "o", "--root-label", label, cwd=self.folder), 2, "--root-label", repr(label))

    def test_an_output_beside_its_input_is_written(self):
        text = self.folder / "a.txt"
        text.write_text("the loom said hello\n")
        for _ in range(2):  # the second time it is there already
            process = weft("data", "noise", "a.txt", "--out", "b.txt", cwd=self.folder)
            self.assertEqual(process.returncode, 0, process.stderr)


if __name__ == "__main__":
    unittest.main()
