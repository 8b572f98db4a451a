# SPDX-License-Identifier: Apache-2.0
"""`weft bench calibrate`: the file it writes, who finds it, and whose file is refused."""

import json
import unittest

from weft_program import Case, environment, weft

DIRECTIONS = ("forward", "backward", "dense_forward", "dense_backward")


class Calibration(Case):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        self.environment = environment(XDG_CACHE_HOME=str(self.cache), WEFT_THREADS="1")
        self.file = self.cache / "weft" / "machine.json"

    def run_weft(self, *arguments):
        return weft(*arguments, env=self.environment, timeout=300)

    def json_of(self, *arguments):
        done = self.run_weft(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_the_file_is_found_by_cost_and_stats(self):
        found = self.json_of("bench", "calibrate", "--seconds", "0")
        self.assertEqual(found["path"], str(self.file))
        written = json.loads(self.file.read_text())
        self.assertEqual(written["machine"], found["machine"])
        self.assertEqual(set(written["machine"]), {"processor", "isa", "threads", "version"})
        self.assertRegex(written["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual({(each["dtype"], each["head_dim"]) for each in written["attention"]},
                         {(dtype, width) for dtype in ("float32", "bfloat16") for width in (32, 64, 128)})
        for each in written["attention"]:
            self.assertLessEqual(set(DIRECTIONS), set(each))
            # Of rows and keys one may be nothing, where other programs disturbed the shorter call; not both.
            self.assertGreater(each["forward"]["row_seconds"] + each["forward"]["key_seconds"], 0)
        self.assertEqual([entry.name for entry in self.file.parent.iterdir()], ["machine.json"])

        cost = self.json_of("pattern", "cost", "window(256)", "--length", "2048", "--layers", "1")
        for form in ("sparse", "dense"):
            for step in ("inference", "training"):
                for part in ("attention", "total"):
                    self.assertGreater(cost[form][step][part]["seconds"], 0)
        self.assertGreater(cost["sparse"]["training"]["total"]["seconds"], cost["sparse"]["inference"]["total"]["seconds"])
        stats = self.json_of("pattern", "stats", "window(256)", "--length", "512", "--layers", "0")
        # Equal where a disturbed forward pass took as long as both passes together.
        self.assertGreaterEqual(stats["seconds"]["forward_backward"], stats["seconds"]["forward"])
        self.assertGreater(stats["seconds"]["forward"], 0)
        self.assertIn("predicted time", self.run_weft("pattern", "stats", "window(256)", "--length", "512").stdout)

        self.refuse_what_is_not_this_machine(written)

    def test_a_short_time_measures_one_width(self):
        found = self.json_of("bench", "calibrate", "--seconds", "0.01", "--out", self.folder / "short.json")
        self.assertEqual({each["head_dim"] for each in found["attention"]}, {64})

    def refuse_what_is_not_this_machine(self, written):
        cost = ("pattern", "cost", "full", "--length", "64", "--layers", "1")
        for field, value in (("processor", "another"), ("isa", "neon"), ("threads", 64), ("version", "0.0.0")):
            other = self.folder / "other.json"
            other.write_text(json.dumps(written | {"machine": written["machine"] | {field: value}}))
            self.assert_fails(self.run_weft(*cost, "--rates", other), 1, "another machine", f"{field} is {value}",
                              "weft bench calibrate")
        self.file.write_text(json.dumps(written | {"machine": written["machine"] | {"processor": "another"}}))
        done = self.run_weft(*cost, "--json")
        self.assertEqual(done.returncode, 0)
        self.assertIn("another machine", done.stderr)
        self.assertIsNone(json.loads(done.stdout)["sparse"]["inference"]["total"]["seconds"])
        broken = self.folder / "broken.json"
        for change in ({"attention": []}, {"layers": []}, {"update_seconds": "fast"}, {"attention": [{"dtype": "float32"}]},
                       {"attention": written["attention"] * 2}):
            broken.write_text(json.dumps(written | change))
            self.assert_fails(self.run_weft(*cost, "--rates", broken), 1)
        broken.write_text("{}")
        self.assert_fails(self.run_weft(*cost, "--rates", broken), 1, "machine is missing")

    def test_without_a_calibration_there_are_no_seconds(self):
        cost = self.json_of("pattern", "cost", "full", "--length", "64")
        self.assertIsNone(cost["sparse"]["training"]["total"]["seconds"])
        self.assertIsNone(cost["crossover_length"])
        self.assertIn("weft bench calibrate", self.run_weft("pattern", "cost", "full", "--length", "64").stdout)
        self.assertIsNone(self.json_of("pattern", "stats", "full", "--length", "64")["seconds"])

    def test_misuse(self):
        self.assert_fails(self.run_weft("bench", "calibrate", "--seconds", "-1"), 2, "--seconds")
        nowhere = weft("bench", "calibrate", "--seconds", "0", env={"PATH": "/usr/bin"})
        self.assert_fails(nowhere, 2, "--out")


if __name__ == "__main__":
    unittest.main()
