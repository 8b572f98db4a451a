#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the fixtures of tests/fixtures/joint anew with the installed transformers and compares them with the stored ones."""
import pathlib
import sys
import tempfile

from safetensors import safe_open

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
sys.path.insert(0, str(FIXTURES / "make"))

import bigbird_layer  # noqa: E402
import longformer_layer  # noqa: E402
import lsh_layer  # noqa: E402
import nystrom_layer  # noqa: E402

TOLERANCE = 1e-12  # float64 on both sides; another machine may sum in another order


def read(path):
    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}
        settings = {key: value for key, value in file.metadata().items() if key != "origin"}
    return tensors, settings


def compare(stored_path, made_path):
    stored, settings = read(stored_path)
    made, made_settings = read(made_path)
    assert settings == made_settings and stored.keys() == made.keys(), stored_path
    largest = max((stored[name].double() - made[name].double()).abs().max().item() for name in stored)
    return largest, largest <= TOLERANCE


def main():
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for made in longformer_layer.make(folder) + bigbird_layer.make(folder) + lsh_layer.make(folder) + nystrom_layer.make(folder):
            largest, equal = compare(FIXTURES / "joint" / made.name, made)
            print(f"{'ok' if equal else 'DIFFERS':8} {made.stem}: largest difference {largest:.1e}")
            failed |= not equal
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
