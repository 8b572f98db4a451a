#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wheels that scripts/wheels makes of this tree, in an environment that has nothing else: no PyTorch, a wrong one, or that of the tree."""
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
TESTS = pathlib.Path(__file__).resolve().parent
TORCH = pathlib.Path(importlib.util.find_spec("torch").submodule_search_locations[0])
MINOR = re.match(r"\d+\.\d+", re.search(r"__version__ = '(.*)'", (TORCH / "version.py").read_text())[1])[0]
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
        cls.wheel, cls.runtime_wheel = (pathlib.Path(path) for path in made.stdout.split())
        # In two places, as with a user's and the machine's site-packages.
        cls.installed, cls.runtime = cls.folder / "installed", cls.folder / "runtime"
        for place, wheel in ((cls.installed, cls.wheel), (cls.runtime, cls.runtime_wheel)):
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--target",
                            place, wheel], check=True)
        backend = pathlib.Path(importlib.util.find_spec("nanobind_backend").origin).parent
        (cls.installed / "nanobind_backend").symlink_to(backend)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", cls.folder / "venv"], check=True)

    def python(self, *arguments, beside=(), **variables):
        """What the Python of the new environment says, with the folders `beside` before the installed packages."""
        places = os.pathsep.join(str(place) for place in (*beside, self.installed))
        environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "WEFT_LIBTORCH", "VIRTUAL_ENV")}
        return subprocess.run([self.folder / "venv/bin/python", *arguments], capture_output=True, text=True, cwd=self.folder,
                              env=dict(environment, PYTHONPATH=places, HOME=str(self.folder), **variables))

    def fake_torch(self, version):
        folder = self.folder / f"torch-{version}"
        (folder / "torch").mkdir(parents=True, exist_ok=True)
        (folder / "torch/__init__.py").write_text(f"__version__ = '{version}+cpu'\n")
        (folder / "torch/version.py").write_text(f"__version__ = '{version}+cpu'\n")
        return folder

    def assert_one_line(self, done, expected):
        self.assertNotEqual(done.returncode, 0)
        last = done.stderr.strip().splitlines()[-1]
        self.assertRegex(last, expected)

    def test_its_name(self):
        for wheel, name in ((self.wheel, "weft_attention"), (self.runtime_wheel, "weft_attention_runtime")):
            self.assertRegex(wheel.name, rf"^{name}-{VERSION}-cp310-abi3-(linux|manylinux_\w+)_x86_64\.whl$")

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
        self.assert_one_line(self.python("-c", load, beside=[self.fake_torch("2.10.1")]), "2.11 or newer; this one is 2.10.1")

    def test_parts_of_two_versions(self):
        information = self.folder / "other/weft_attention_runtime-9.9.0.dist-info"
        information.mkdir(parents=True)
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: weft-attention-runtime\nVersion: 9.9.0\n")
        done = self.python("-m", "weft_attention", "version", beside=[self.folder / "other"])
        self.assert_one_line(done, f"weft-attention-runtime 9.9.0 .* {VERSION}: they must have one version|^hint: ")

    def test_drawing_libraries_are_not_needed_before_a_picture(self):
        broken = self.folder / "broken"
        broken.mkdir()
        for name in ("libX11.so.6", "libcairo.so.2"):
            (broken / name).write_text("not a library")
        settings = {"beside": [self.runtime], "LD_LIBRARY_PATH": str(broken)}
        done = self.python("-c", "import weft_attention as weft; print(len(weft.Pattern('window(4)')._repr_svg_()) > 100)", **settings)
        self.assertEqual((done.stdout, done.stderr), ("True\n", ""))
        self.assertEqual(self.python("-m", "weft_attention", "--version", **settings).stdout.split()[:2], ["weft", VERSION])

    def test_the_whole_program_without_torch(self):
        done = self.python("-m", "weft_attention", "pattern", "show", "causal", "--length", "8", beside=[self.runtime])
        self.assertIn("36 edges", done.stdout)
        done = self.python("-m", "weft_attention", "version", beside=[self.runtime])
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^weft: error: cannot open libweft[^\n]*\nhint: commands that compute need LibTorch[^\n]*\n$")
        load = "from weft_attention._native import load_runtime; load_runtime('this')"
        self.assert_one_line(self.python("-c", load, beside=[self.runtime]), f"computes with PyTorch {MINOR}, and there is none")
        self.assert_one_line(self.python("-c", load), "UnsupportedError: this needs the package weft-attention-runtime, which is not installed")

    def test_the_whole_program_and_another_torch(self):
        places = [self.fake_torch("2.14.1"), self.runtime]
        expected = rf"weft-attention-runtime is built for PyTorch {MINOR}; this one is 2\.14\.1"
        load = "from weft_attention._native import load_runtime; load_runtime('this')"
        self.assert_one_line(self.python("-c", load, beside=places), expected)
        self.assertRegex(self.python("-m", "weft_attention", "version", beside=places).stderr, f"^weft: error: {expected}[^\n]*\nhint: [^\n]*\n$")

    def test_the_whole_program_with_the_torch_of_the_tree(self):
        places = [self.runtime, TORCH.parent]
        done = self.python(self.runtime / "bin/weft", "version", beside=places)
        self.assertRegex(done.stdout, rf"^weft +{VERSION}\nlibtorch +{MINOR}", done.stderr)
        compute = (
            "import sys; sys.path.insert(0, sys.argv[1]); import cpu_torch, torch, weft_attention as weft; torch.set_num_threads(1)\n"
            "part = torch.ones(1, 1, 4, 2, dtype=torch.float64); print(weft.attend(part, part, part, 'causal').sum().item())"
        )
        done = self.python("-c", compute, str(TESTS), beside=places)
        self.assertEqual((done.stdout, done.returncode), ("8.0\n", 0), done.stderr)


if __name__ == "__main__":
    unittest.main()
