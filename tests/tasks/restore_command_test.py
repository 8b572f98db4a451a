# SPDX-License-Identifier: Apache-2.0
"""`weft restore`: a small model that learned two sentences by heart writes them, and all that is not theirs stays."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from encoder_program import FIXTURES, results  # noqa: E402
from weft_program import Case, environment, weft  # noqa: E402

LABELS = ["O", "S-Title", "S-UPPER", "S-Title,", "S-,", "S-.", "S-?", "S-Title."]
LEARNED = [("we", "S-Title"), ("saw", "O"), ("ada", "S-Title,"), ("said", "O"), ("the", "O"), ("loom", "S-."), ("does", "S-Title"),
           ("it", "O"), ("weave", "S-?")]
BARE = " ".join(word for word, _ in LEARNED)
RESTORED = "We saw Ada, said the loom. Does it weave?"


class RestoreCommandTest(Case):
    def learned(self):
        examples = self.folder / "examples.conll"
        examples.write_text("".join("".join(f"{word} {tag}\n" for word, tag in LEARNED) * (1 + count % 3) + "\n" for count in range(12)))
        words = self.folder / "words.txt"
        words.write_text(f"{BARE}\n" * 50)
        process = weft("tokenizer", "train", words, "--vocabulary-size", "300", "--out", self.folder / "tokenizer")
        self.assertEqual(process.returncode, 0, process.stderr)
        process = weft("init", "--family", "bert", "--head", "token-classification", "--tokenizer", self.folder / "tokenizer", "--labels", *LABELS,
                       "--num-hidden-layers", "1", "--hidden-size", "32", "--num-attention-heads", "2", "--intermediate-size", "32",
                       "--position-embedding-type", "none", "--attention", "relative(reach=4)", "--max-position-embeddings", "100000",
                       "--hidden-dropout-prob", "0", "--initializer-range", "0.1", "--out", self.folder / "start")
        self.assertEqual(process.returncode, 0, process.stderr)
        process = weft("train", "--task", "tag", "--model", self.folder / "start", "--train-data", examples, "--batch-size", "8", "--steps", "60",
                       "--learning-rate", "1e-2", "--dtype", "float32", "--out", self.folder / "restore")
        self.assertEqual(process.returncode, 0, process.stderr)
        return self.folder / "restore"

    def test_words_get_their_forms_back(self):
        model = self.learned()
        process = weft("restore", BARE, "--model", model)
        self.assertEqual((process.returncode, process.stdout), (0, RESTORED + "\n"), process.stderr)
        # What is between words stays; marks and capitals of the text give way to the model's.
        process = weft("restore", "--model", model, input="WE saw\n\"ada\" said... the loom;\n\ndoes it Weave!")
        self.assertEqual(process.stdout, "We saw\n\"Ada,\" said the loom.\n\nDoes it weave?\n", process.stderr)
        for end in ("", "\n", "\n\n"):  # a line end of the file is the last one
            self.assertEqual(weft("restore", "-", "--model", model, input=BARE + end).stdout, RESTORED + (end or "\n"))
        process = weft("restore", "we saw\u00a0ada said\u2003the loom", "--model", model)
        self.assertEqual(process.stdout, "We saw\u00a0Ada, said\u2003the loom.\n", process.stderr)
        # The shipped model is looked for in WEFT_MODELS.
        process = weft("restore", BARE, env=environment(WEFT_MODELS=str(self.folder)))
        self.assertEqual(process.stdout, RESTORED + "\n", process.stderr)
        (result,) = results("restore", BARE, "--model", model)
        text = result["result"]["text"]
        self.assertEqual([text[place["start"]:place["end"]] for place in result["result"]["sentences"]],
                         ["We saw Ada, said the loom.", "Does it weave?"])
        self.assertEqual(result["metadata"]["windows"], 1)
        # A long text is one pass, and windows give words the labels of their own middle.
        long = " ".join([BARE] * 300)
        (whole,) = results("restore", long, "--model", model)
        self.assertEqual((whole["result"]["text"], whole["metadata"]["windows"]), (" ".join([RESTORED] * 300), 1))
        (parts,) = results("restore", long, "--model", model, "--max-length", "64", "--stride", "32")
        self.assertGreater(parts["metadata"]["windows"], 10)
        self.assertEqual(parts["result"]["text"], whole["result"]["text"])
        self.assertEqual(weft("restore", "", "--model", model).stdout, "\n")
        self.assertEqual(weft("restore", " ... ", "--model", model).stdout, " ... \n")

    def test_what_cannot_be_done_is_said(self):
        self.assert_fails(weft("restore", "a", env=environment(WEFT_MODELS=str(self.folder))), 1, "'restore'", str(self.folder), "--model")
        self.assert_fails(weft("restore", "a", "--file", "b"), 2, "found both")
        self.assert_fails(weft("restore", "-", "--file", "b"), 2, "found both")
        process = weft("init", "--family", "bert", "--head", "token-classification", "--tokenizer", FIXTURES / "tokenizers/bert", "--labels", "O", "B-PER",
                       "--num-hidden-layers", "1", "--hidden-size", "32", "--num-attention-heads", "2", "--out", self.folder / "tagger")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assert_fails(weft("restore", "a", "--model", self.folder / "tagger"), 1, "restores nothing", "'B-PER'")


if __name__ == "__main__":
    unittest.main()
