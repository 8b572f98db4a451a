# SPDX-License-Identifier: Apache-2.0
"""`weft tokenize`: texts from everywhere, windows, offsets, and what must not hurt."""

import json
import os
import pty
import resource
import subprocess
import unittest

from encoder_program import FIXTURES, TOKENIZERS, results
from weft_program import BINARY, Case, environment, weft

BERT = TOKENIZERS / "bert"


class TokenizeTest(Case):
    def test_tokens_and_offsets(self):
        (found,) = results("tokenize", BERT, "The loom é weaves")
        (window,) = found["result"]
        self.assertEqual(window["tokens"], ["[CLS]", "the", "loom", "e", "weav", "##es", "[SEP]"])
        self.assertEqual(window["offset_mapping"][3:5], [[9, 10], [11, 15]])
        self.assertEqual(window["byte_offsets"][3:5], [[9, 11], [12, 16]])
        self.assertEqual(window["special_tokens_mask"], [1, 0, 0, 0, 0, 0, 1])
        self.assertEqual(window["sequence_ids"], [None, 0, 0, 0, 0, 0, None])
        self.assertEqual(window["attention_mask"], [1] * 7)
        self.assertEqual(weft("tokenize", BERT, "the loom").stdout, "[CLS] the loom [SEP]\n")

    def test_texts_from_arguments_a_file_and_standard_input(self):
        path = self.folder / "lines.txt"
        path.write_bytes("the loom\r\n\nwe see".encode())
        expected = weft("tokenize", BERT, "the loom", "", "we see").stdout
        self.assertEqual(expected.count("\n"), 3)
        self.assertEqual(weft("tokenize", BERT, "--file", path).stdout, expected)
        self.assertEqual(weft("tokenize", BERT, input="the loom\n\nwe see\n").stdout, expected)

    def test_sides_of_an_encoder_decoder(self):
        marian = FIXTURES / "pairs/marian-separate"
        (source,) = results("tokenize", marian, "A man said")
        (target,) = results("tokenize", marian, "A man said", "--as-target")
        self.assertEqual(source["result"][0]["tokens"][-1], "</s>")
        self.assertNotEqual(source["result"][0]["input_ids"], target["result"][0]["input_ids"])
        ids = source["result"][0]["input_ids"]
        self.assertEqual(weft("tokenize", marian, "--decode", *map(str, ids), "--no-special-tokens").stdout, "A man said\n")
        self.assert_fails(weft("tokenize", marian, "A man", "--max-length", "4"), 1, "windows")
        self.assert_fails(weft("tokenize", marian, "A man\tsaid", "--pairs"), 1, "pairs")

    def test_pairs_and_windows(self):
        (pair,) = results("tokenize", BERT, "the loom\twe", "--pairs")
        self.assertEqual(pair["result"][0]["token_type_ids"], [0, 0, 0, 0, 1, 1])
        (windows,) = results("tokenize", BERT, "the loom said hello world", "--max-length", "5", "--stride", "1")
        self.assertEqual([window["tokens"][1:-1] for window in windows["result"]], [["the", "loom", "said"], ["said", "hello", "world"]])
        (cut,) = results("tokenize", BERT, "the loom said hello world", "--max-length", "5", "--truncate")
        self.assertEqual(len(cut["result"]), 1)
        self.assertIs(cut["metadata"]["truncated"], True)

    def test_decode(self):
        (found,) = results("tokenize", BERT, "the loom")
        ids = found["result"][0]["input_ids"]
        self.assertEqual(weft("tokenize", BERT, "--decode", *ids).stdout, "[CLS] the loom [SEP]\n")
        self.assertEqual(weft("tokenize", BERT, "--decode", "--no-special-tokens", *ids).stdout, "the loom\n")
        path = self.folder / "ids.txt"
        path.write_text(" ".join(map(str, ids)) + "\n\n" + f"  {ids[1]}\t{ids[2]}\n")
        expected = "[CLS] the loom [SEP]\n\nthe loom\n"
        self.assertEqual(weft("tokenize", BERT, "--decode", "--file", path).stdout, expected)
        for more in ((), ("-",)):
            self.assertEqual(weft("tokenize", BERT, "--decode", *more, input=path.read_text()).stdout, expected)
        self.assertEqual([entry["metadata"]["tokens"] for entry in results("tokenize", BERT, "--decode", "--file", path)], [4, 0, 2])
        path.write_text(f"{ids[0]} the\n")
        self.assert_fails(weft("tokenize", BERT, "--decode", "--file", path), 1, "ids.txt' line 1: expected ids with blanks between, found 'the'")
        self.assert_fails(weft("tokenize", BERT, "--decode", "1", "--file", path), 2, "--file")
        self.assert_fails(weft("tokenize", BERT, "--decode", "the"), 2, "'the'")
        self.assert_fails(weft("tokenize", BERT, "--decode", "99999"), 1, "99999", "vocabulary")

    def test_a_vocabulary_steers_no_terminal(self):
        escape = "\x1b[31m"
        tokenizer = {"version": "1.0", "added_tokens": [], "model": {"type": "WordLevel", "unk_token": escape, "vocab": {escape: 0}}}
        (self.folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        self.assertEqual(weft("tokenize", self.folder, "word").stdout, "\\u001b[31m\n")
        # The decoded text is what was asked for: a program gets its bytes, a terminal does not.
        decode = ("tokenize", self.folder, "--decode", "0")
        self.assertEqual(weft(*decode).stdout, escape + "\n")
        self.assertEqual(results(*decode)[0]["result"], escape)
        ours, theirs = pty.openpty()
        try:
            process = subprocess.run([BINARY, *map(str, decode)], stdout=theirs, stderr=subprocess.PIPE, env=environment(), timeout=120)
            self.assertEqual((process.returncode, process.stderr), (0, b""))
            self.assertEqual(os.read(ours, 100), b"\\u001b[31m\r\n")
        finally:
            os.close(ours)
            os.close(theirs)

    def test_any_bytes(self):
        path = self.folder / "bytes.txt"
        path.write_bytes(b"a\xff\xfe b\x00c\xed\xa0\x80\n" + b" " * 5000 + b"\n" + b"a" * 100_000)
        found = results("tokenize", BERT, "--file", path)
        self.assertEqual(len(found), 3)
        self.assertEqual(found[1]["result"][0]["tokens"], ["[CLS]", "[SEP]"])
        self.assertEqual(found[0]["result"][0]["offset_mapping"][-2], [6, 7])

    def test_bytes_that_are_no_text_need_bounded_memory(self):
        """Each byte becomes U+FFFD, three tokens of a byte-level vocabulary, and nine values of the result."""
        path = self.folder / "noise"
        path.write_bytes(b"\xff" * 250_000)
        (found,) = results("tokenize", TOKENIZERS / "roberta", "--file", path, by_fork=False)
        window = found["result"][0]
        self.assertEqual({len(window[name]) for name in window}, {750_002})
        self.assertEqual(window["byte_offsets"][-2:], [[249_999, 250_000], [0, 0]])
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # of all commands that this process ran
        self.assertLess(peak, 600_000, "KB; a tree of JSON values took 1,100,000")

    def test_mistakes(self):
        empty = self.folder / "empty.txt"
        empty.write_bytes(b"")
        self.assert_fails(weft("tokenize", self.folder / "absent", "a"), 1, "absent")
        self.assert_fails(weft("tokenize", self.folder, "a"), 1, "tokenizer.json", "none")
        self.assert_fails(weft("tokenize", BERT, "--file", self.folder / "absent"), 1, "absent")
        self.assert_fails(weft("tokenize", BERT, "--file", self.folder), 1, "directory")
        self.assert_fails(weft("tokenize", BERT, "--file", empty), 1, "no text")
        self.assert_fails(weft("tokenize", BERT, input=""), 1, "no text")
        self.assert_fails(weft("tokenize", BERT, "a", "--file", empty), 2, "--file")
        self.assert_fails(weft("tokenize", BERT, "a", "--pairs"), 1, "text 1", "tab")
        self.assert_fails(weft("tokenize", BERT, "the loom", "--max-length", "2"), 1, "text 1", "room")


if __name__ == "__main__":
    unittest.main()
