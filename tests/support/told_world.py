# SPDX-License-Identifier: Apache-2.0
"""A world for tests of tables of examples/science, which runs no program."""
import os
import pathlib
import sys

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "examples/science"))

from world import Program, World  # noqa: E402


def value(words, flag):
    return words[words.index(flag) + 1]


class ToldWorld(World):
    """Keeps what it is asked to run, and answers with what it is told for each command: a value, or a function of the command's words.
    A file outside a cell's scratch folder that is written twice must be the same, because cells may be computed side by side."""

    def __init__(self, folder, **answers):
        super().__init__(Program("weft", 2), folder, folder)
        self.scratch = folder / "cells" / "one"
        self.scratch.mkdir(parents=True)
        self.answers, self.asked, self.folders = answers, [], []

    def write(self, path, text):
        is_shared = not path.is_relative_to(self.scratch)
        if is_shared and path.exists() and path.read_text(encoding="utf-8") != text:
            raise AssertionError(f"another cell wrote {path}")
        super().write(path, text)

    def run(self, *command):
        return self._answer(command, "")

    def weft(self, *command, folder=None):
        self.folders.append(folder)
        return self._answer(command, {})

    def apart(self, *command):
        return self._answer(("apart", *command), "")

    def trained(self, run, *flags):
        return self._answer(("train", run, *flags), {})

    def _answer(self, command, default):
        words = [str(word) for word in command]
        self.asked.append(words)
        answer = self.answers.get(words[0], default)
        return answer(words) if callable(answer) else answer

    def of(self, command):
        return [words for words in self.asked if words[0] == command]

    def values(self, command, flag):
        return [value(words, flag) for words in self.of(command)]
