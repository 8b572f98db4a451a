#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/sbom names every crate of the lock file and every pinned wheel once, and gives the same document twice."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))


def document():
    return subprocess.run([sys.executable, ROOT / "scripts/sbom"], capture_output=True, text=True, check=True).stdout


class SbomTest(unittest.TestCase):
    def test_everything_is_in_it(self):
        text = document()
        self.assertEqual(text, document())
        sbom = json.loads(text)
        names = {part["name"] for part in sbom["packages"]}
        crates = set(re.findall(r'^name = "(.+)"$', (ROOT / "rust/tokenizers-c/Cargo.lock").read_text(), re.MULTILINE))
        self.assertEqual({name for name in crates if name not in names}, {"weft-tokenizers"})
        self.assertLessEqual({"weft", "torch", "libcairo2-dev"}, names)
        ids = [part["SPDXID"] for part in sbom["packages"]]
        self.assertEqual(len(ids), len(set(ids)))
        for relation in sbom["relationships"]:
            self.assertIn(relation["relatedSpdxElement"], ids)
        for part in sbom["packages"]:
            self.assertRegex(part["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")


if __name__ == "__main__":
    unittest.main()
