# SPDX-License-Identifier: Apache-2.0
"""Every command of docs/recipes/published-decoders.md, as it stands there, in a shape that trains in a second: sizes shrink on their way to
the program, everything else is the page's."""

import os
import pathlib
import random
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from weft_program import BINARY, Case, environment, forked  # noqa: E402

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/recipes/published-decoders.md"

# What is in place of `weft` on the path: the program with smaller numbers behind these flags. Flags of several values take as many.
SHRINK = """#!{python}
import os, sys
sys.path.append("{support}")
import forked
SMALL = {{"--layers": ["2"], "--width": ["16"], "--heads": ["2"], "--intermediate-size": ["24"], "--context": ["64"], "--memory": ["32"],
          "--batch-size": ["2"], "--stream-tokens": ["300"], "--steps": ["1"], "--gradient-accumulation": ["1"], "--warmup-steps": ["1"],
          "--eval-every": ["1"], "--axial-pos-shape": ["4", "16"], "--axial-pos-embds-dim": ["4", "12"], "--vocabulary-cutoffs": ["3", "6"],
          "--feed-forward-chunk": ["48"], "--position-stride": ["16"], "--keep-rows": ["31"]}}
words, made, at = sys.argv[1:], [], 0
while at < len(words):
    flag = words[at]
    made.append(flag)
    at += 1
    values = []
    while flag.startswith("--") and at < len(words) and not words[at].startswith("--"):
        values.append(words[at])
        at += 1
    if flag == "--attention" and len(values) > 1:
        SMALL.pop("--layers")  # one for each layer
        if "--layers" in made:
            made[made.index("--layers") + 1] = str(len(values))
    made += SMALL.get(flag, values)
if made[0] == "train":
    made += ["--threads", "1", "--dtype", "float32", *(["--max-eval-bytes", "300"] if "--eval-text" in made else [])]
elif made[0] == "eval":
    made += ["--max-bytes", "300"]
os.execv(forked.program("{binary}", os.environ), ["{binary}", *made])
"""


def blocks():
    """The commands of the page, block by block."""
    return re.findall(r"^```\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def picture(number):
    """A record of CIFAR-10."""
    return bytes([number % 10]) + bytes((place * 3 + channel * 50 + number) % 256 for channel in range(3) for place in range(1024))


class PublishedDecodersTest(Case):
    def setUp(self):
        super().setUp()
        draw = random.Random(3)
        words = ["graph", "token", "query", "key", "value", "window", "stride", "block", "head", "<unk>"]  # as WikiText writes rare words
        for name, lines in (("train.txt", 400), ("valid.txt", 60), ("test.txt", 60), ("wiki.train.tokens", 400), ("wiki.valid.tokens", 60),
                            ("wiki.test.tokens", 60)):
            (self.folder / name).write_text("".join(" ".join(draw.choice(words) for _ in range(9)) + "\n" for _ in range(lines)))
        for folder, first in (("cifar/train", 0), ("cifar/test", 4)):
            (self.folder / folder).mkdir(parents=True)
            (self.folder / folder / "batch.bin").write_bytes(b"".join(picture(first + number) for number in range(2)))
        raster = b"".join(bytes((row * 7 + column * 5 + channel * 60) % 256 for column in range(32) for channel in range(3)) for row in range(32))
        (self.folder / "bird.png").write_bytes(b"P6 32 32 255\n" + raster)  # what a file is, its first bytes say
        program = self.folder / "bin/weft"
        program.parent.mkdir()
        support = pathlib.Path(__file__).resolve().parents[1] / "support"
        program.write_text(SHRINK.format(python=sys.executable, support=support, binary=BINARY))
        program.chmod(0o755)

    def run_block(self, commands):
        variables = environment(**forked.served(environment()))
        variables["PATH"] = f"{self.folder / 'bin'}{os.pathsep}{variables.get('PATH', os.defpath)}"
        return subprocess.run(["bash", "-e", "-c", commands], cwd=self.folder, env=variables, capture_output=True, text=True, timeout=300)

    def test_the_commands_run(self):
        page = blocks()
        self.assertEqual(sum(block.count("weft train") for block in page), 7)
        for block in page:
            if "enwik8 >" in block:
                continue  # cuts a file of 100 million bytes
            with self.subTest(block=block.splitlines()[0]):
                done = self.run_block(block)
                self.assertEqual(done.returncode, 0, done.stderr)
        for run in ("xl", "xl-words", "spans-tuned", "frozen", "reformer", "pictures", "sparse"):
            self.assertTrue((self.folder / run / "model.safetensors").is_file(), run)
        self.assertTrue((self.folder / "completed.png").read_bytes().startswith(b"\x89PNG"))


if __name__ == "__main__":
    unittest.main()
