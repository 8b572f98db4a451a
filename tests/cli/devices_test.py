# SPDX-License-Identifier: Apache-2.0
"""Devices as a driver says them: no driver, an old one, no GPU, too little memory are one line each before anything long; rates of a GPU are kept beside
those of the CPU. The driver is a pretended one (tests/support/driver), and LibTorch's CUDA half stays closed."""

import json
import os
import pathlib
import unittest

from weft_program import BINARY, Case, environment, weft

DRIVER = pathlib.Path(BINARY).parent.parent / "lib" / "pretended_driver"
TOKENIZER = pathlib.Path(__file__).resolve().parents[1] / "fixtures/tokenizers/bert"
SPEC = ("--tokenizer", TOKENIZER, "--hidden-size", "32", "--num-hidden-layers", "1", "--num-attention-heads", "2", "--intermediate-size", "32")


class Devices(Case):
    def run_weft(self, *arguments, driver=True, **variables):
        more = {f"PRETENDED_{name.upper()}": str(value) for name, value in variables.items()}
        path = os.pathsep.join(filter(None, [str(DRIVER) if driver else "", os.environ.get("LD_LIBRARY_PATH", "")]))
        around = environment(XDG_CACHE_HOME=str(self.folder / "cache"), WEFT_THREADS="1", LD_LIBRARY_PATH=path, **more)
        return weft(*arguments, env=around, timeout=120, by_fork=False)

    def setUp(self):
        super().setUp()
        self.assertTrue((DRIVER / "libcuda.so.1").is_file(), DRIVER)

    def test_version_names_what_the_driver_names(self):
        done = self.run_weft("version", "--json", gpus=2, major=8)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([(gpu["device"], gpu["name"], gpu["compute_capability"]) for gpu in json.loads(done.stdout)["gpus"]],
                         [("cuda:0", "Pretended GPU", "8.0"), ("cuda:1", "Pretended GPU", "8.0")])  # fmt: skip
        self.assertIn("for CUDA 12.4", self.run_weft("version", version=12040).stdout)

    def test_what_is_missing_is_one_line(self):
        bench = ("bench", "attention", "--length", "8", "--heads", "1", "--head-dim", "8", "--rounds", "0", "--device")
        self.assert_fails(self.run_weft(*bench, "cuda:1"), 1, "cuda:1", "no such GPU", "sees 1: cuda:0")
        self.assert_fails(self.run_weft(*bench, "cuda", init=100), 1, "cuda:0", "finds no GPU")
        self.assert_fails(self.run_weft(*bench, "cuda", init=3), 1, "cuInit gives error 3")
        self.assert_fails(self.run_weft(*bench, "cuda", gpus=0), 1, "finds no GPU")
        self.assert_fails(self.run_weft(*bench, "gpu"), 2, "--device must be cpu, cuda or cuda:N", "'gpu'")
        self.assert_fails(self.run_weft(*bench, "cpu", "--tf32"), 2, "--tf32 is for products on a GPU, and --device is cpu", "--no-tf32")
        self.assert_fails(self.run_weft("bench", "calibrate", "--device", "cuda", "--tf32"), 2, "--tf32", "exact products of float32")
        cost = ("pattern", "cost", "full", "--length", "64", "--device")  # though nothing was calibrated
        self.assert_fails(self.run_weft(*cost, "gpu"), 2, "--device must be cpu, cuda or cuda:N", "'gpu'")
        self.assert_fails(self.run_weft(*cost, "cuda", gpus=0), 1, "finds no GPU")

    def test_a_server_that_does_not_fit_a_gpu_is_refused(self):
        made = weft("init", "--family", "bert", *SPEC, "--out", self.folder / "model")
        self.assertEqual(made.returncode, 0, made.stderr)
        done = self.run_weft("serve", self.folder / "model", "--device", "cuda:0", free=1000)
        self.assert_fails(done, 1, "the model 'model' needs up to", " of weights, ", " of layouts, ", "cuda:0 has 1000 B free")

    def test_rates_of_a_gpu_lie_beside_those_of_the_cpu(self):
        calibrated = weft("bench", "calibrate", "--seconds", "0.01", "--out", self.folder / "rates.json", timeout=300)
        self.assertEqual(calibrated.returncode, 0, calibrated.stderr)
        written = json.loads((self.folder / "rates.json").read_text())
        cost = ("pattern", "cost", "window(256)", "--length", "2048", "--layers", "1", "--json", "--rates", self.folder / "rates.json", "--device", "cuda")
        self.assert_fails(self.run_weft(*cost), 1, "no calibration of Pretended GPU, compute capability 9.0", "--device cuda")
        machine = {"processor": "Pretended GPU, compute capability 9.0", "isa": "cuda", "threads": 1, "version": written["machine"]["version"]}
        written["gpus"] = [{**written, "machine": machine}]
        (self.folder / "rates.json").write_text(json.dumps(written))
        done = self.run_weft(*cost)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(json.loads(done.stdout)["sparse"]["inference"]["total"]["seconds"], 0)
        again = weft("bench", "calibrate", "--seconds", "0.01", "--out", self.folder / "rates.json", timeout=300)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(json.loads((self.folder / "rates.json").read_text())["gpus"][0]["machine"], machine)
        self.assert_fails(self.run_weft(*cost, gpus=0), 1, "finds no GPU")
        (self.folder / "rates.json").write_text(json.dumps({"gpus": written["gpus"]}))
        self.assertEqual(self.run_weft(*cost).returncode, 0)
        self.assert_fails(self.run_weft(*cost[:-1], "cpu"), 1, "there is no calibration of the CPU", "weft bench calibrate")


if __name__ == "__main__":
    unittest.main()
