# SPDX-License-Identifier: Apache-2.0
"""`weft prune` and `--attention @FILE`: a profile becomes patterns, a run keeps their graphs, and what does not fit is one line."""

import json
import math
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import safetensors_profile  # noqa: E402
from encoder_program import TEXT, make_model  # noqa: E402
from weft_program import TINY, Case, weft, weft_json  # noqa: E402

LENGTH = 64


def mass(layer, head, query, key):
    """Head 0 looks nearby; head 1 at the first two keys; layer 1 spreads it more."""
    near = 2.0 ** -(query - key)
    return near + 0.01 * (layer + 1) if head == 0 else (1.0 if key < 2 else 0.01) + 0.1 * near


def nearest_percentile(values, share):
    """numpy.percentile(values, 100 * share, method="nearest"): halves go to the even index."""
    found = sorted(values)[round(round(share, 9) * (len(values) - 1))]
    try:
        import numpy
    except ImportError:  # the formula is NumPy's own
        return found
    assert numpy.percentile(values, 100 * round(share, 9), method="nearest") == found
    return found


class PruneCase(Case):
    def setUp(self):
        super().setUp()
        self.profile = self.folder / "profile.safetensors"
        safetensors_profile.write(self.profile, (2, 2, LENGTH), mass)

    def prune(self, name, *arguments):
        return weft_json("prune", self.profile, *arguments, "-o", self.folder / name)

    def start(self, out, *arguments):
        return weft("train", "--train-text", self.train_text, "--steps", 2, *TINY, "--out", self.folder / out, *arguments)


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
        self.assertRegex(process.stderr, r"[\d,]+ edges are kept that Weft would prune, and [\d,]+ pruned that it would keep")

    def kept_edges(self, name, layer, head):
        lines = (self.folder / name / f"l{layer:02}h{head:02}.mtx").read_text().splitlines()
        return {tuple(int(number) - 1 for number in line.split()) for line in lines[2:]}

    def test_the_released_count_is_the_percentile_of_all_means_of_a_layer(self):
        def rows(query):  # texts of three lengths; the last positions had none
            return 5 if query < 20 else 2 if query < 40 else 1 if query < 60 else 0

        safetensors_profile.write(self.profile, (2, 2, LENGTH), mass, rows=rows)
        for density in (0.1, 0.25, 0.6):
            result = self.prune("released.json", "--density", density, "--released")
            self.assertEqual(result["settings"]["rank"], "mean")
            own = self.prune("own.json", "--density", density)
            only = {"only_released": 0, "only_weft": 0}
            for layer in range(2):
                counts = safetensors_profile.edges_of(2, LENGTH, lambda head, query, key: mass(layer, head, query, key), rows)
                means = [[[count / max(1, rows(query)) for count in row] for query, row in enumerate(head)] for head in counts]
                threshold = nearest_percentile(safetensors_profile.flat(means), 1 - density)
                for head in range(2):
                    expected = {(query, key) for query in range(LENGTH) for key in range(query + 1) if means[head][query][key] > threshold}
                    released, weft_own = (self.kept_edges(name, layer, head) for name in ("released", "own"))
                    self.assertEqual(released, expected)
                    only["only_released"] += len(released - weft_own)
                    only["only_weft"] += len(weft_own - released)
            self.assertEqual(result["unlike_weft"], only)
            self.assertGreater(only["only_weft"], 0)
            self.assertEqual(result["kept_units"], result["kept_edges"])

    def test_what_is_wrong_is_said(self):
        out = ["-o", self.folder / "x.json"]
        self.assert_fails(weft("prune", self.profile, *out), 2, "give one of --density, --mass and --time")
        self.assert_fails(weft("prune", self.profile, "--density", 0.001, *out), 1, "the diagonal and one for each row")
        self.assert_fails(weft("prune", self.profile, "--density", 0.5, "--attend", "cross", *out), 1, "without cross-attention")
        self.assert_fails(weft("prune", self.train_text, "--density", 0.5, *out), 1, self.train_text.name)
        self.assert_fails(weft("prune", self.profile, "--density", 0.5, "-o", self.folder / "x"), 2, "needs an ending")
        self.assert_fails(weft("prune", self.profile, "--density", 0.5, "--attend", "both", *out), 1, "without cross-attention")
        for idle, words in ((["--seed", 3], "--seed is for --control random"), (["--block", 32], "--block is for --unit block"),
                            (["--unit", "head", "--no-diagonal"], "--diagonal is for --unit edge or block"),
                            (["--unit", "head", "--rank", "mean"], "--rank mean is for edges"),
                            (["--unit", "head", "--control", "window"], "--unit head goes with"),
                            (["--released", "--unit", "block"], "--released counts edges")):
            self.assert_fails(weft("prune", self.profile, "--density", 0.5, *idle, *out), 2, words)

    def test_a_folder_that_holds_something_else_is_kept(self):
        """Graphs go into a folder of the file's name, as a whole: what was there would be gone."""
        taken = self.folder / "run"
        taken.mkdir()
        (taken / "model.safetensors").write_text("weights")
        prune = ["prune", self.profile, "--density", 0.3, "-o"]
        self.assert_fails(weft(*prune, self.folder / "run.json"), 1, "'" + str(taken) + "' is in the way", "another name")
        self.assertEqual([one.name for one in taken.iterdir()], ["model.safetensors"])
        self.assertFalse((self.folder / "run.json").exists())
        self.prune("x.json", "--density", 0.3)
        self.prune("x.json", "--density", 0.4)
        self.assert_fails(weft(*prune, self.folder / "x.txt"), 1, "is in the way")
        shown = json.loads((self.folder / "x.json").read_text())["attention"][0]
        self.assertEqual(weft("pattern", "show", shown, "--length", LENGTH, "--heads", 2, cwd=self.folder).returncode, 0)
        (self.folder / "x.txt").write_text("my notes")
        self.assert_fails(weft(*prune, self.folder / "x.txt"), 1, "is in the way")
        self.assertEqual((self.folder / "x.txt").read_text(), "my notes")
        (self.folder / "empty").mkdir()
        self.prune("empty.json", "--density", 0.3)
        (self.folder / "x" / "notes.txt").write_text("mine")
        self.assert_fails(weft(*prune, self.folder / "x.json"), 1, "is in the way")
        self.assertEqual((self.folder / "x" / "notes.txt").read_text(), "mine")


class ProposeTest(PruneCase):
    def test_a_line_for_each_layer(self):
        result = weft_json("propose", self.profile, "--mass", 0.75, "--length", 4096, "-o", self.folder / "proposed.json")
        self.assertEqual(len(result["attention"]), 2)
        self.assertGreaterEqual(result["kept_mass"], 0.75)
        self.assertIn("global(2, side=keys)", result["attention"][0])
        process = weft("propose", self.profile, "--mass", 0.9, "--length", 4096)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual([line.split()[0] for line in process.stdout.splitlines()][:2], ["layers.0.self", "layers.1.self"])
        process = self.start("run", "--attention", f"@{self.folder / 'proposed.json'}")
        self.assertEqual(process.returncode, 0, process.stderr)


class ProposeTrainedTest(PruneCase):
    """On models that were trained for some seconds."""

    def trained(self, name, *arguments):
        self.assertEqual(self.start(name, *arguments).returncode, 0)
        process = weft("profile", self.folder / name, "--text", self.train_text, "--max-bytes", 4000, "--context", LENGTH, "--out", self.profile)
        self.assertEqual(process.returncode, 0, process.stderr)

    def test_nothing_is_added_to_the_patterns_of_longformers_and_bigbirds(self):
        for number, base in enumerate(("window(12) | global(at=[0, 9])", "block(8, global(first=1, last=1) | window(3) | random(1, seed=1))",
                                       "bigbird(block=8, plan=\"uniform\", seed=2)")):
            self.trained(f"run{number}", "--encoder", "--attention", base, "--steps", 40)
            for mass_share in (0.6, 0.95, 1):
                found = weft_json("propose", self.profile, "--mass", mass_share, "-o", self.folder / f"p{number}.json")
                self.assertLessEqual(found["cost_share"], 1)
                self.assertGreaterEqual(found["kept_mass"], mass_share - 1e-9)
                for part in found["parts"]:
                    outside = weft_json("pattern", "stats", f"({part['expression']}) & !({base})", "--length", LENGTH, "--heads", 2)
                    self.assertEqual(outside["edges"], 0, part)
                    self.assertLessEqual(part["cost"], part["base_cost"])
                if mass_share == 1:
                    self.assertEqual([part["expression"] for part in found["parts"]], [part["base"] for part in found["parts"]])
            at = f"@{self.folder / f'p{number}.json'}"
            process = weft("eval", self.folder / f"run{number}", "--text", self.held_out, "--attention", at)
            self.assertEqual(process.returncode, 0, process.stderr)

    def test_the_loss_on_a_text_that_was_held_out(self):
        for name, more in (("decoder", ["--attention", "causal"]), ("encoder", ["--encoder", "--attention", "full"])):
            self.trained(name, *more, "--max-position-embeddings", 2 * LENGTH, "--steps", 30)
            out = self.folder / f"{name}.json"
            for length in (LENGTH, 2 * LENGTH):
                given = ["propose", self.profile, "--mass", 0.8, "--length", length, "--held-out", self.held_out, "-o", out]
                found = weft_json(*given)["held_out"]
                self.assertEqual(found["context"], length)
                for key, attention in (("own", []), ("proposed", ["--attention", f"@{out}"])):
                    scored = weft_json("eval", self.folder / name, "--text", self.held_out, "--context", length, "--dtype", "float32", *attention)
                    loss = scored["loss"] if "loss" in scored else math.log(scored["perplexity"])
                    self.assertAlmostEqual(found[key], loss, places=5)
                self.assertAlmostEqual(found["change"], found["proposed"] / found["own"] - 1)
            text = weft(*given)
            self.assertEqual(text.returncode, 0, text.stderr)
            self.assertRegex(text.stdout, r"held-out loss +[\d.]+ with the model's own attention, [\d.]+ with the proposed one \([+-][\d.]+%\), 128 tokens")

    def test_a_graph_of_the_model_goes_along(self):
        self.prune("prune.json", "--density", 0.3)
        self.trained("run", "--attention", f"@{self.folder / 'prune.json'}", "--steps", 10)
        shutil.rmtree(self.folder / "prune")
        (self.folder / "new").mkdir()
        found = weft_json("propose", self.profile, "--mass", 0.9, "--held-out", self.held_out, "-o", self.folder / "new/proposed.json")
        self.assertLessEqual(found["cost_share"], 1)
        self.assertEqual(len(list((self.folder / "new/prune").iterdir())), 4)
        process = weft("eval", self.folder / "run", "--text", self.held_out, "--attention", f"@{self.folder / 'new/proposed.json'}")
        self.assertEqual(process.returncode, 0, process.stderr)

    def test_edges_are_added_until_all_hear_of_all(self):
        found = weft_json("propose", self.profile, "--mass", 0.6, "--rewire", "--length", 5000)
        self.assertTrue(any(part["rewired"] for part in found["parts"]), found)
        for part in found["parts"]:
            self.assertEqual(part["rewired"] in part["expression"], True)
        wide = weft_json("propose", self.profile, "--mass", 0.6, "--rewire", "--gap", 0.01, "--length", 1000)
        self.assertTrue(any(part["rewired"] for part in wide["parts"]), wide)
        for arguments, words in ((["--rewire", "--length", 20000], "up to 16384 tokens"), (["--attend", "cross"], "without cross-attention"),
                                 (["--attend", "cross", "--rewire"], "--rewire connects")):
            self.assert_fails(weft("propose", self.profile, *arguments), 1, words)
        self.assert_fails(weft("propose", self.profile, "--gap", 0.1), 2, "--gap has no effect without --rewire")
        self.assert_fails(weft("propose", self.profile, "--max-bytes", 100), 2, "--max-bytes has no effect without --held-out")


class AttentionFileTest(PruneCase):
    def test_a_run_keeps_its_graphs(self):
        patterns = self.prune("prune.json", "--density", 0.3)["attention"]
        process = self.start("run", "--attention", f"@{self.folder / 'prune.json'}")
        self.assertEqual(process.returncode, 0, process.stderr)
        shutil.rmtree(self.folder / "prune")
        self.assertEqual(json.loads((self.folder / "run/config.json").read_text())["attention"], patterns)
        self.assertEqual(len(list((self.folder / "run/prune").iterdir())), 4)
        first = weft_json("eval", self.folder / "run", "--text", self.train_text, "--max-bytes", 2000)
        self.assertGreater(first["bits_per_byte"], 0)

    def test_evaluation_and_further_training(self):
        self.assertEqual(self.start("run").returncode, 0)
        self.prune("prune.json", "--density", 0.2)
        at = f"@{self.folder / 'prune.json'}"
        dense = weft_json("eval", self.folder / "run", "--text", self.train_text, "--max-bytes", 2000)
        process = weft("eval", self.folder / "run", "--text", self.train_text, "--max-bytes", 2000, "--attention", at, "--json")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("made for another model", process.stderr)
        self.assertNotEqual(json.loads(process.stdout)["bits_per_byte"], dense["bits_per_byte"])
        process = weft("train", "--model", self.folder / "run", "--train-text", self.train_text, "--steps", 1, "--batch-size", 2, "--attention", at,
                       "--out", self.folder / "further", "--threads", 1)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertTrue((self.folder / "further/prune/l01h01.mtx").is_file())

    def test_an_encoder_with_these_patterns(self):
        model, pruned = make_model(self.folder / "bert", "bert", "none"), self.folder / "pruned"
        patterns = self.prune("prune.json", "--density", 0.2)["attention"]
        process = weft("convert", model, "--attention", f"@{self.folder / 'prune.json'}", "--out", pruned)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(json.loads((pruned / "config.json").read_text())["attention"], patterns)
        self.assertEqual(len(list((pruned / "prune").iterdir())), 4)
        before, after = (weft("embed", directory, TEXT, "--json").stdout for directory in (model, pruned))
        self.assertNotEqual(before, after)
        self.assertEqual(len(after), len(after.strip()) + 1)

    def test_what_does_not_fit_is_said(self):
        self.prune("prune.json", "--density", 0.2)
        at = f"@{self.folder / 'prune.json'}"
        self.assert_fails(self.start("run", "--attention", at, "--layers", 3), 1, "for 2 layers of 2 heads, and the model has 3 layers")
        (self.folder / "prune/l01h01.mtx").unlink()
        process = self.start("run", "--attention", at)  # an error of an expression shows the place below
        self.assertEqual(process.returncode, 1)
        self.assertIn("cannot open 'prune/l01h01.mtx'", process.stderr.splitlines()[0])
        self.assert_fails(self.start("run", "--attention", f"@{self.folder / 'none.json'}"), 1, "none.json")
        self.assert_fails(self.start("run", "--attention", f"@{self.train_text}"), 1, self.train_text.name)


if __name__ == "__main__":
    unittest.main()
