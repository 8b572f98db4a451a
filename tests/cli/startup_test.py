# SPDX-License-Identifier: Apache-2.0
"""What the program loads before it begins: LibTorch only for commands that compute with tensors."""

import os
import re
import unittest

from weft_program import Case, environment, weft


def loaded(*arguments):
    """The finished process, and the names of the shared objects that it opened, as glibc's loader tells them."""
    done = weft(*arguments, env=environment(LD_DEBUG="files"))
    return done, {os.path.basename(path) for path in re.findall(r"file=(\S+) \[0\];  generating link map", done.stderr)}


class StartupTest(Case):
    def test_what_needs_no_tensors_loads_no_libtorch(self):
        self.train_text.write_text("a text\nof two lines\n")
        for arguments in (
            ["--help"],
            ["--version"],
            ["pattern", "--help"],
            ["pattern", "show", "causal & window(8)", "--length", "64"],
            ["pattern", "show", "full", "--length", "64", "--png", self.folder / "full.png"],
            ["pattern", "stats", "strided(8)", "--length", "64"],
            ["pattern", "cost", "window(8)", "--length", "64"],
            ["pattern", "compare", "full", "window(8)", "--length", "64"],
            ["data", "check", self.train_text],
            ["tokenizer", "train", "--help"],
        ):
            done, objects = loaded(*arguments)
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            self.assertTrue(any(name.startswith("libweft_core.so") for name in objects), objects)
            self.assertEqual([name for name in objects if "torch" in name or "c10" in name], [], arguments)

    def test_what_computes_loads_it(self):
        done, objects = loaded("version")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(any(name.startswith("libtorch_cpu.so") for name in objects), objects)

    def test_misuse_of_a_command_without_tensors_needs_none(self):
        for arguments in (["patern"], ["pattern", "shw"], ["pattern", "show", "window("], []):
            done, objects = loaded(*arguments)
            self.assertIn(done.returncode, (1, 2))
            self.assertEqual([name for name in objects if "torch" in name], [], arguments)

    def test_every_command_is_listed_as_it_describes_itself(self):
        text = weft("--help").stdout
        listed = re.findall(r"^  ([a-z-]+) {2,}(.+(?:\n {34}.+)*)", text[text.index("Commands:"):], re.MULTILINE)
        self.assertGreater(len(listed), 20)
        for name, about in listed:
            done = weft(name, "--help")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(" ".join(done.stdout.splitlines()[0].split()), " ".join(about.split()), name)


if __name__ == "__main__":
    unittest.main()
