#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wheel that scripts/wheels makes of this tree, in an environment that has nothing else: no PyTorch, or a wrong one."""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["WEFT_BINARY"]).parent.parent
SOURCE = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
VERSION = re.search(r'kVersion = "(.*)"', (SOURCE / "src/weft/core/version.h").read_text())[1]


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        made = subprocess.run([sys.executable, SOURCE / "scripts/wheels", "--built", BUILD, "--out", cls.folder],
                              capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        cls.wheel = pathlib.Path(made.stdout.strip())
        cls.installed = cls.folder / "installed"
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--target",
                        cls.installed, cls.wheel], check=True)
        backend = pathlib.Path(importlib.util.find_spec("nanobind_backend").origin).parent
        (cls.installed / "nanobind_backend").symlink_to(backend)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", cls.folder / "venv"], check=True)

    def python(self, *arguments, beside=None):
        """What the Python of the new environment says, with the folder `beside` before the installed packages."""
        places = os.pathsep.join(str(place) for place in (beside, self.installed) if place is not None)
        environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "WEFT_LIBTORCH")}
        return subprocess.run([self.folder / "venv/bin/python", *arguments], capture_output=True, text=True, cwd=self.folder,
                              env=dict(environment, PYTHONPATH=places))

    def assert_one_line(self, done, expected):
        self.assertNotEqual(done.returncode, 0)
        last = done.stderr.strip().splitlines()[-1]
        self.assertRegex(last, expected)

    def test_its_name(self):
        self.assertRegex(self.wheel.name, rf"^weft_attention-{VERSION}-cp310-abi3-(linux|manylinux_\w+)_x86_64\.whl$")

    def test_patterns_need_no_torch(self):
        done = self.python("-c", "import sys, weft_attention; print(weft_attention.__version__, 'torch' in sys.modules); "
                           "from weft_attention import _core; print(_core.parse('window(64)&causal'))")
        self.assertEqual((done.stdout, done.stderr), (f"{VERSION} False\nwindow(64) & causal\n", ""))

    def test_commands(self):
        done = self.python("-m", "weft_attention", "pattern", "show", "causal", "--length", "8")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("36 edges", done.stdout)
        done = self.python("-m", "weft_attention", "version")
        self.assertRegex(done.stdout, rf"weft-attention {VERSION}\n.*PyTorch 2\.11 and newer; this Python has no PyTorch\n")
        self.assert_one_line(self.python("-m", "weft_attention", "train"), "weft train computes with tensors.*this package has: score")

    def test_no_torch_and_an_old_torch(self):
        load = "from weft_attention._native import load_operators; load_operators()"
        self.assert_one_line(self.python("-c", load), "UnsupportedError: attention is computed with PyTorch 2.11 or newer, and there is none")
        (self.folder / "old/torch").mkdir(parents=True)
        (self.folder / "old/torch/__init__.py").write_text("__version__ = '2.10.1+cpu'\n")
        self.assert_one_line(self.python("-c", load, beside=self.folder / "old"), "2.11 or newer; this one is 2.10.1")

    def test_parts_of_two_versions(self):
        information = self.folder / "other/weft_attention_runtime-9.9.0.dist-info"
        information.mkdir(parents=True)
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: weft-attention-runtime\nVersion: 9.9.0\n")
        done = self.python("-m", "weft_attention", "version", beside=self.folder / "other")
        self.assert_one_line(done, f"weft-attention-runtime 9.9.0 .* {VERSION}: they must have one version|^hint: ")


if __name__ == "__main__":
    unittest.main()
