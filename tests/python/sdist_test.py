#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The source distribution holds what a build needs: unpacked where there is no Git, CMake configures it and has a recipe for every file of the
Python package. Compiling all of it would take as long as the program."""
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "scripts"))

from packing import sdist  # noqa: E402


class SdistTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="weft-sdist-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.archive = sdist.make(SOURCE, cls.folder)

    def test_what_it_holds(self):
        names = sdist.names(self.archive)
        for name in ("CMakeLists.txt", "LICENSE", "PKG-INFO", "pyproject.toml", "python/CMakeLists.txt", "python/weft_attention/_core.pyi",
                     "rust/tokenizers-c/Cargo.lock", "scripts/cargo", "src/weft/core/version.h"):
            self.assertIn(name, names)
        self.assertEqual([name for name in names if name.startswith(("build", "dist", ".", "tests")) or "__pycache__" in name], [])

    def test_a_file_too_few_is_named(self):
        small = self.folder / "weft_attention-small.tar.gz"
        with tarfile.open(small, "w") as made:
            for name in sdist.tracked(SOURCE) or ():
                if name != "cmake/WeftRoom.cmake":
                    made.add(SOURCE / name, arcname=f"weft_attention-small/{name}")
        if sdist.tracked(SOURCE):
            with self.assertRaisesRegex(SystemExit, "weft_attention-small.tar.gz lacks cmake/WeftRoom.cmake$"):
                sdist.check(small, SOURCE)

    def test_it_configures(self):
        with tarfile.open(self.archive) as opened:
            opened.extractall(self.folder)  # our own archive; Debian's Python 3.11.2 has no filters
        unpacked = self.folder / self.archive.name.removesuffix(".tar.gz")
        environment = {name: value for name, value in os.environ.items() if name not in ("WEFT_BUILT", "PYTHONPATH")}
        environment["GIT_CEILING_DIRECTORIES"] = str(self.folder)
        build = self.folder / "build"
        configured = subprocess.run(["cmake", "-G", "Ninja", "-S", unpacked / "python", "-B", build, "-DCMAKE_BUILD_TYPE=Release",
                                     f"-DPython_EXECUTABLE={sys.executable}"], capture_output=True, text=True, env=environment)
        self.assertEqual(configured.returncode, 0, configured.stdout[-2000:] + configured.stderr[-4000:])
        ninja = shutil.which("ninja") or "ninja"
        steps = subprocess.run([ninja, "-C", build, "-t", "commands", "weft_python"], capture_output=True, text=True, env=environment)
        self.assertEqual(steps.returncode, 0, steps.stdout[-2000:] + steps.stderr[-2000:])
        self.assertRegex(steps.stdout, r"_core\.abi3\.so")
        self.assertRegex(steps.stdout, r"libweft_operators\.so")


if __name__ == "__main__":
    unittest.main()
