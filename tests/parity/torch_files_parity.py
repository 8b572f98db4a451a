# SPDX-License-Identifier: Apache-2.0
"""torch.save's files of random views, in every form, read by Weft to the bit; and .npy files against NumPy."""
import collections
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy
import torch
from safetensors.torch import load_file

DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.float16, torch.bfloat16, torch.int32, torch.float32,
          torch.complex64, torch.float64, torch.int64, torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn]
PROGRAM = os.environ.get("WEFT_TEST_FORMATS", str(pathlib.Path(
    os.environ.get("WEFT_BINARY", pathlib.Path(__file__).resolve().parents[2] / "build/release/bin/weft")).with_name("test_formats")))
ROUNDS = 20


def random_view(generator, tensor):
    """A view of the same storage: cut, stepped, transposed, of one element, or all of it."""
    for _ in range(generator.randrange(4)):
        if tensor.dim() == 0:
            break
        axis = generator.randrange(tensor.dim())
        kind = generator.randrange(4)
        if kind == 0:
            tensor = tensor.transpose(axis, generator.randrange(tensor.dim()))
        elif kind == 1:
            tensor = tensor.narrow(axis, generator.randrange(tensor.shape[axis] + 1), 0)
        elif kind == 2:
            tensor = tensor[tuple([slice(None)] * axis + [slice(generator.randrange(3), None, generator.randrange(1, 3))])]
        elif tensor.shape[axis] > 0:
            tensor = tensor.select(axis, generator.randrange(tensor.shape[axis]))
    return tensor


def random_state(generator):
    state = collections.OrderedDict()
    for i, dtype in enumerate(generator.sample(DTYPES, 8)):
        shape = [generator.randrange(6) for _ in range(generator.randrange(4))]
        size = torch.empty(shape, dtype=dtype).element_size()
        data = torch.randint(0, 2, (*shape, size), dtype=torch.uint8)
        base = data.reshape(-1).view(dtype).reshape(shape)
        state[f"base.{i}"] = base
        for j in range(3):
            state[f"view.{i}.{j}"] = random_view(generator, base)
        if dtype.is_floating_point and dtype != torch.float8_e4m3fn:
            state[f"parameter.{i}"] = torch.nn.Parameter(base)
    return state


def rewrite(test, source, target):
    subprocess.run([PROGRAM, f"--gtest_filter={test}.ForParity"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "WEFT_TEST_IN": str(source), "WEFT_TEST_OUT": str(target)})


def same(left, right):
    left, right = (tensor.detach().clone(memory_format=torch.contiguous_format) for tensor in (left, right))
    return (left.dtype == right.dtype and left.shape == right.shape
            and left.reshape(-1).view(torch.uint8).equal(right.reshape(-1).view(torch.uint8)))


def compare_states(generator, folder):
    count = 0
    for _ in range(ROUNDS):
        state = random_state(generator)
        for options in ({}, {"pickle_protocol": 4}, {"_use_new_zipfile_serialization": False}):
            torch.save(state, folder / "model.bin", **options)
            rewrite("TorchFile", folder / "model.bin", folder / "out.safetensors")
            read = load_file(folder / "out.safetensors")
            assert read.keys() == state.keys()
            for name, tensor in state.items():
                assert same(read[name], tensor), (options, name, tensor.shape, tensor.stride())
            count += len(state)
    return count


def compare_arrays(folder):
    for dtype in ("bool", "u1", "i1", "i2", "u2", "f2", "i4", "u4", "f4", "c8", "f8", "i8", "u8"):
        for shape in ((), (3,), (2, 3), (0, 4), (1, 2, 3, 4)):
            array = numpy.random.default_rng(1).integers(0, 2, shape).astype(dtype)
            numpy.save(folder / "in.npy", array)
            rewrite("Npy", folder / "in.npy", folder / "out.npy")
            assert (folder / "out.npy").read_bytes() == (folder / "in.npy").read_bytes(), (dtype, shape)


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 32)
    print(f"seed {seed}")
    torch.manual_seed(seed)
    with tempfile.TemporaryDirectory() as directory:
        count = compare_states(random.Random(seed), pathlib.Path(directory))
        compare_arrays(pathlib.Path(directory))
    print(f"torch files: {count} tensors read alike; .npy files written alike, to the byte")
    return 0


if __name__ == "__main__":
    sys.exit(main())
