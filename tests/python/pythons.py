#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs a wheel weft-attention for every CPython from 3.10 on that this machine has, in an environment of its own, and tries it there.

    tests/python/pythons.py dist/weft_attention-*.whl

It looks for python3.10, python3.11 and so on in PATH and among those of pyenv. pip fetches nanobind-backend, the part that depends on the version
of Python, so that this needs a package registry; no test of `make test` does. Prints a line a Python, and fails where one does not work.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
VERSIONS = range(10, 16)
WITHOUT_TORCH = "import weft_attention as w; from weft_attention._native import load_operators as f\ntry: f()\nexcept w.UnsupportedError as e: print(e)"


def interpreters():
    """{(3, minor): path}, one of each version."""
    found = {}
    for minor in VERSIONS:
        ours = [shutil.which(f"python3.{minor}"), *sorted(pathlib.Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3"))]
        for path in filter(None, ours):
            said = subprocess.run([path, "-c", "import sys, venv, ensurepip; print(sys.version_info[1])"], capture_output=True, text=True)
            if said.stdout.strip() == str(minor):
                found.setdefault((3, minor), path)
    return found


def tried(python, wheel, folder):
    """What went wrong, or an empty text; the environment is made in `folder`."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "WEFT_BINARY")}
    own = folder / "bin/python"
    steps = [
        ([python, "-m", "venv", folder], ""),
        ([own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel], ""),
        ([own, HERE / "pattern_test.py"], ""),
        ([own, "-m", "weft_attention", "version"], r"weft-attention \d"),
        ([own, "-m", "weft_attention", "pattern", "show", "causal", "--length", "8"], "36 edges"),
        ([own, "-c", WITHOUT_TORCH], "PyTorch 2.11 or newer, and there is none"),
    ]
    for command, expected in steps:
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder.parent, env=environment)
        if done.returncode != 0 or not re.search(expected, done.stdout):
            return f"{' '.join(map(str, command[1:3]))}: exit code {done.returncode}: {(done.stderr or done.stdout)[-1500:]}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=pathlib.Path)
    wheel = parser.parse_args().wheel.resolve()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for version, python in interpreters().items():
            fault = tried(python, wheel, pathlib.Path(folder) / f"python3.{version[1]}")
            wrong += bool(fault)
            print(f"CPython 3.{version[1]}: {fault or 'works'}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
