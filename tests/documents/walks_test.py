#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The walks of docs/architecture.md are those that the program takes: it enters their files in their order, and as many others as the page
says. The walks are printed with the functions that were entered first. Skipped where no program can be watched (entries.py)."""

import collections
import pathlib
import re
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "cli"), str(pathlib.Path(__file__).resolve().parents[2] / "scripts")]
from commands import SOURCE  # noqa: E402
from encoder_program import TEXT, make_model  # noqa: E402
from entries import Unwatchable, entries  # noqa: E402
from linting import aims, function_rules, sources  # noqa: E402
from weft_program import BINARY, environment  # noqa: E402

# By walk: the flags of a run that takes it, and the files whose first functions end the reading of flags and the making of the model.
TRAIN = ["--train-text", "text.txt", "--eval-text", "text.txt", "--attention", "strided(128)", "--context", "4096", "--steps", "1", "--out", "run"]
TINY = ["--batch-size", "1", "--hidden-size", "16", "--num-hidden-layers", "1", "--num-attention-heads", "1", "--intermediate-size", "16"]
WALKS = {
    "weft train": ([*TRAIN, *TINY, "--max-eval-bytes", "200"], "training/train_language_model.cpp", "training/trainer.cpp"),
    "weft fill-mask": (["model", TEXT.replace("thread", "[MASK]")], "checkpoint/open_model.cpp", "tasks/fill_mask.cpp"),
}
COUNTS = re.compile(r"enters about (\d+)\s+files: (\d+)\s+until[^,]*,\s+(\d+)\s+until[^,]*,\s+and\s+(\d+)\s")
NEAR = 0.15  # of a count: a file more does not make the page wrong


def outside_of_templates(text):
    """The text without what is between < and >."""
    kept, depth = "", 0
    for character in text:
        depth += (character == "<") - (character == ">")
        kept += character if depth == 0 and character != ">" else ""
    return kept


def signature(name):
    """(name, whether its namespace has none, number of parameters) of a demangled name, as of those that lizard finds."""
    plain = outside_of_templates(re.sub(r"\(anonymous namespace\)::|\[abi:\w+\]| \[clone .*\]", "", name))
    before, _, behind = plain.partition("(")
    parameters = behind.rpartition(")")[0]
    return before.split(" ")[-1], name.find("(anonymous namespace)") == name.find("("), parameters.count(",") + bool(parameters)


def private_lines(file):
    """The numbers of the lines in namespaces without a name."""
    inside, found = False, set()
    for number, line in enumerate(file.lines, start=1):
        inside = (inside or line.startswith("namespace {")) and not line.startswith("}  // namespace")
        found |= {number} if inside else set()
    return found


def files_of_functions():
    """{signature, or a beginning of it: the one file that has such functions}."""
    library = {file.path: file for file in sources.read_tree(SOURCE) if file.path.startswith("src/weft/")}
    private = {path: private_lines(file) for path, file in library.items()}
    found = collections.defaultdict(set)
    for function in function_rules.measure(library.values()):
        key = (outside_of_templates(function.name), function.line in private[function.path], function.parameters)
        for length in (1, 2, 3):
            found[key[:length]].add(function.path.removeprefix("src/weft/"))
    return {key: files.pop() for key, files in found.items() if len(files) == 1}


def file_of(key, files):
    return next((files[key[:length]] for length in (1, 2, 3) if key[:length] in files), None)


def taken(command, flags, folder):
    """The functions that a command enters, in the order of their first entries."""
    home = pathlib.Path(BINARY).resolve().parent.parent / "lib"
    libraries = [str((home / f"lib{name}.so").resolve()) for name in ("weft_core", "weft")]
    order, status = entries([str(BINARY), command, *flags], libraries, environment(WEFT_THREADS="1"), folder)
    if status != 0:
        raise AssertionError(f"weft {command} exited with {status}")
    return order


def follow(walk, trail):
    """[(file of the walk, the function of it that was entered next)] for a trail [(file, function)]; None where there is none."""
    found, at = [], 0
    for file in walk:
        if file.endswith(".inc"):
            continue
        next_one = next((i for i in range(at, len(trail)) if trail[i][0] == file), None)
        found.append((file, None if next_one is None else trail[next_one][1]))
        at = at if next_one is None else next_one + 1
    return found


class WalksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = (SOURCE / "docs/architecture.md").read_text(encoding="utf-8")
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        (folder / "text.txt").write_text("the loom weaves a thread of wool and silk under every hand that turns it. " * 200)
        make_model(folder / "model", "bert", "masked-lm")
        try:
            cls.trails = {walk: taken(walk.split()[1], flags, folder) for walk, (flags, _, _) in WALKS.items()}
        except Unwatchable as reason:
            raise unittest.SkipTest(str(reason)) from reason
        files = files_of_functions()
        for walk, order in cls.trails.items():
            cls.trails[walk] = [(file, key[0]) for key in map(signature, order) if (file := file_of(key, files))]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def section(self, walk):
        return self.page.split(f"### Walk: `{walk}`")[1].split("\n#")[0]

    def test_the_page_has_these_walks(self):
        self.assertEqual(re.findall(r"### Walk: `([^`]+)`", self.page), list(WALKS))

    def test_files_are_entered_in_the_order_of_the_walk(self):
        for walk, trail in self.trails.items():
            steps = [match.group(1) for line in self.section(walk).splitlines() if (match := aims.STEP.match(line))]
            print(f"\n{walk}:")
            for file, function in follow(steps, trail):
                print(f"  {file}: {function}")
                with self.subTest(walk=walk, file=file):
                    self.assertIsNotNone(function, "not entered behind the step before it; files from there on:\n" + self.rest(steps, file, trail))

    def rest(self, steps, file, trail):
        """The files that were entered behind the step before `file`, for who mends the walk."""
        before = follow(steps[: steps.index(file)], trail)
        at = max((i for i, (_, function) in enumerate(trail) if before and function == before[-1][1]), default=0)
        return "\n".join(dict.fromkeys(name for name, _ in trail[at:]))

    def test_the_page_says_how_many_files_are_entered(self):
        for walk, trail in self.trails.items():
            _, opening, computing = WALKS[walk]
            order = [name for name, _ in trail]
            begins = [0, order.index(opening), order.index(computing), len(order)]
            phases = [len(set(order[begins[i] : begins[i + 1]])) for i in range(3)]
            found = [len(set(order)), *phases]
            print(f"\n{walk}: {found[0]} files are entered: {phases[0]} for the flags, {phases[1]} to open, {phases[2]} to compute")
            said = COUNTS.search(self.section(walk))
            with self.subTest(walk=walk):
                self.assertIsNotNone(said, "the page says no counts")
                for number, count in zip(map(int, said.groups()), found):
                    self.assertAlmostEqual(number, count, delta=NEAR * count, msg=f"the page says {said.groups()}, found {found}")


if __name__ == "__main__":
    unittest.main()
