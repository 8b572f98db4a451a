#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws BigBird's plans anew with the installed transformers and compares their digests with the stored ones."""
import pathlib
import sys
import tempfile

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
sys.path.insert(0, str(FIXTURES / "make"))

import bigbird_plans  # noqa: E402


def digests(path):
    """Everything but the line that names versions."""
    return [line for line in path.read_text().splitlines() if not line.startswith("#")]


def main():
    stored = digests(FIXTURES / "pattern/released_plans.txt")
    with tempfile.TemporaryDirectory() as folder:
        made = digests(bigbird_plans.make(pathlib.Path(folder)))
    different = sum(old != new for old, new in zip(stored, made)) + abs(len(stored) - len(made))
    print(f"{'DIFFERS' if different else 'ok':8} released plans: {different} of {len(stored)} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
