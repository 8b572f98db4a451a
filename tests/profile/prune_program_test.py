# SPDX-License-Identifier: Apache-2.0
"""`weft prune` and `--attention @FILE`: a profile becomes patterns, a run keeps their graphs, and what does not fit is one line."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import safetensors_profile  # noqa: E402
from weft_program import Case, weft, weft_json  # noqa: E402

LENGTH = 64


def mass(layer, head, query, key):
    """Head 0 looks nearby; head 1 at the first two keys; layer 1 spreads it more."""
    near = 2.0 ** -(query - key)
    return near + 0.01 * (layer + 1) if head == 0 else (1.0 if key < 2 else 0.01) + 0.1 * near


class PruneCase(Case):
    def setUp(self):
        super().setUp()
        self.profile = self.folder / "profile.safetensors"
        safetensors_profile.write(self.profile, (2, 2, LENGTH), mass)

    def prune(self, name, *arguments):
        return weft_json("prune", self.profile, *arguments, "-o", self.folder / name)


class PruneTest(PruneCase):
    def test_a_tenth_of_the_edges(self):
        result = self.prune("prune.json", "--density", 0.1)
        edges = LENGTH * (LENGTH + 1) // 2 * 4
        self.assertEqual(result["units"], edges)
        self.assertEqual(result["kept_units"], round(0.1 * edges))
        self.assertEqual(result["kept_edges"], result["kept_units"])
        self.assertGreater(result["kept_mass"], 0.7)
        self.assertEqual(len(result["attention"]), 2)
        self.assertIn('edges("prune/l00h01.mtx"', result["attention"][0])
        self.assertEqual(json.loads((self.folder / "prune.json").read_text())["attention"], result["attention"])
        self.assertEqual(len(list((self.folder / "prune").iterdir())), 4)
        random = self.prune("random.json", "--density", 0.1, "--control", "random")
        window = self.prune("window.json", "--density", 0.1, "--control", "window")
        self.assertEqual(random["kept_units"], result["kept_units"])
        self.assertLess(random["kept_mass"], result["kept_mass"])
        self.assertRegex(window["attention"][0], r"^causal & window\(left=\d+\)$")
        self.assertLessEqual(window["kept_edges"], result["kept_edges"])

    def test_other_units(self):
        blocks = self.prune("blocks.json", "--mass", 0.9, "--unit", "block", "--block", 16)
        self.assertIn('block(16, edges("blocks/l01h00.mtx"', blocks["attention"][1])
        self.assertGreaterEqual(blocks["kept_mass"], 0.9)
        heads = self.prune("heads.json", "--density", 0.5, "--unit", "head")
        self.assertEqual(heads["attention"], ["causal & heads(1 * full, 1 * !full)"] * 2)
        text = weft("prune", self.profile, "--time", 0.8, "--unit", "block", "--block", 16, "-o", self.folder / "time.json")
        self.assertEqual(text.returncode, 0, text.stderr)
        self.assertIn("predicted time", text.stdout)

    def test_the_released_code_says_what_differs(self):
        process = weft("prune", self.profile, "--density", 0.2, "--released", "-o", self.folder / "released.json")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("because entries that are no edge were counted", process.stderr)

    def test_what_is_wrong_is_said(self):
        out = ["-o", self.folder / "x.json"]
        self.assert_fails(weft("prune", self.profile, *out), 1, "give one of --density, --mass and --time")
        self.assert_fails(weft("prune", self.profile, "--density", 0.001, *out), 1, "the diagonal and one for each row")
        self.assert_fails(weft("prune", self.profile, "--density", 0.5, "--attend", "cross", *out), 1, "without cross-attention")
        self.assert_fails(weft("prune", self.train_text, "--density", 0.5, *out), 1, self.train_text.name)
        self.assert_fails(weft("prune", self.profile, "--density", 0.5, "-o", self.folder / "x"), 1, "needs an ending")


class ProposeTest(PruneCase):
    def test_a_line_for_each_layer(self):
        result = weft_json("propose", self.profile, "--mass", 0.75, "--length", 4096, "-o", self.folder / "proposed.json")
        self.assertEqual(len(result["attention"]), 2)
        self.assertGreaterEqual(result["kept_mass"], 0.75)
        self.assertIn("global(2, side=keys)", result["attention"][0])
        process = weft("propose", self.profile, "--mass", 0.9, "--length", 4096)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual([line.split()[0] for line in process.stdout.splitlines()][:2], ["layers.0.self", "layers.1.self"])


if __name__ == "__main__":
    unittest.main()
