# SPDX-License-Identifier: Apache-2.0
"""Results of the runtime: memory as arrays of NumPy or tensors of PyTorch."""
from ._errors import UnsupportedError


def array_of(array, torch):
    """The memory of a result, without a copy, as a tensor of PyTorch or an array of NumPy."""
    if torch:
        from torch import from_dlpack

        return from_dlpack(array)
    return _numpy().asarray(array)


def vector_of(numbers, torch, dtype):
    """A list of numbers as one array; `dtype` is the name that NumPy and PyTorch have for it."""
    if torch:
        import torch as library

        return library.tensor(numbers, dtype=getattr(library, dtype))
    return _numpy().array(numbers, dtype=dtype)


def _numpy():
    try:
        import numpy
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        raise UnsupportedError(
            "results are arrays of NumPy, which is not installed", "pip install numpy, or ask for tensors by torch=True"
        ) from None
    return numpy
