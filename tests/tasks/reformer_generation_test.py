# SPDX-License-Identifier: Apache-2.0
"""A Reformer that transformers wrote continues prompts: with the whole text for each token, or like transformers with its cache."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from weft_program import Case, weft, weft_json  # noqa: E402

REFORMERS = pathlib.Path(__file__).resolve().parents[1] / "fixtures/reformer"
GREEDY = ["--temperature", "0", "--threads", "1", "--suppress-tokens", "2"]


class ReformerGenerationTest(Case):
    def continued(self, prompt, tokens, *flags):
        process = weft("generate", REFORMERS / "mixed", "--prompt", prompt, "--max-new-tokens", tokens, "--json", *GREEDY, *flags)
        self.assertEqual(process.returncode, 0, process.stderr)
        return process

    def test_the_whole_text_is_computed_again_for_each_token(self):
        process = self.continued("the loom wea", "6")
        self.assertEqual(process.stderr.count("\n"), 1, process.stderr)
        self.assertIn("whole text is computed again for each token", process.stderr)
        # Beams keep texts apart, and what they find first is not worse.
        found = weft_json("generate", REFORMERS / "mixed", "--prompt", "the loom wea", "--max-new-tokens", "6", "--num-beams", "3", *GREEDY[2:])
        self.assertEqual(found["new_tokens"], 6)

    def test_like_transformers(self):
        self.assertEqual(self.continued("the loom wea", "6", "--like-transformers").stderr, "")
        self.assert_fails(weft("generate", REFORMERS / "padded", "--prompt", "a", "--like-transformers"), 1, "local_num_chunks_before 2")
        self.assert_fails(weft("generate", REFORMERS / "masked", "--prompt", "a", "--like-transformers"), 1, "encoder")
        self.train("--steps", "1")
        self.assert_fails(weft("generate", self.run_directory, "--prompt", "a", "--like-transformers"), 1, "for Reformers of transformers")

    def test_layers_without_hashing_go_on_token_by_token(self):
        process = weft("generate", REFORMERS / "local", "--prompt", "abc", "--max-new-tokens", "3", *GREEDY)
        self.assertEqual((process.returncode, process.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
