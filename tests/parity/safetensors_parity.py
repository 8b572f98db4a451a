# SPDX-License-Identifier: Apache-2.0
"""Weft and the safetensors package read each other's files, and write the same bytes for the same tensors."""
import os
import pathlib
import subprocess
import sys
import tempfile

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

DTYPES = [torch.bool, torch.uint8, torch.int8, torch.float8_e5m2, torch.float8_e4m3fn, torch.float8_e8m0fnu,
          torch.int16, torch.uint16, torch.float16, torch.bfloat16, torch.int32, torch.uint32, torch.float32,
          torch.complex64, torch.float64, torch.int64, torch.uint64]


def some_tensors():
    generator = torch.Generator().manual_seed(7)
    tensors = {}
    for i, dtype in enumerate(DTYPES):
        for name, shape in (("b", (3, 5)), ("a", (i % 4,)), ("scalar", ())):
            size = torch.empty(shape, dtype=dtype).element_size()
            data = torch.randint(0, 2, (*shape, size), generator=generator, dtype=torch.uint8)
            tensors[f"{name}.{i}"] = data.reshape(-1).view(dtype).reshape(shape).clone()
    return tensors


def same(left, right):
    return (left.dtype == right.dtype and left.shape == right.shape
            and left.reshape(-1).view(torch.uint8).equal(right.reshape(-1).view(torch.uint8)))


def rewrite(source, target):
    """Has Weft read `source` and write what it read to `target`."""
    binary = pathlib.Path(os.environ.get("WEFT_BINARY", pathlib.Path(__file__).resolve().parents[2] / "build/release/bin/weft"))
    subprocess.run([binary.with_name("test_formats"), "--gtest_filter=Safetensors.ForParity"], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "WEFT_TEST_IN": source, "WEFT_TEST_OUT": target})


def main():
    tensors = some_tensors()
    with tempfile.TemporaryDirectory() as directory:
        theirs, ours = os.path.join(directory, "theirs"), os.path.join(directory, "ours")
        save_file(tensors, theirs, metadata={"format": "pt"})
        rewrite(theirs, ours)
        read = load_file(ours)
        assert read.keys() == tensors.keys()
        assert all(same(read[name], tensors[name]) for name in tensors)
        with safe_open(ours, framework="pt") as file:
            assert file.metadata() == {"format": "pt"}
        assert pathlib.Path(ours).read_bytes() == pathlib.Path(theirs).read_bytes(), "the bytes differ"
    print(f"safetensors: {len(tensors)} tensors of {len(DTYPES)} dtypes read and written alike, to the byte")
    return 0


if __name__ == "__main__":
    sys.exit(main())
