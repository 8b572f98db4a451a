# SPDX-License-Identifier: Apache-2.0
"""What crosses the border to the runtime: memory as arrays of NumPy or tensors of PyTorch, settings as JSON."""
import json
import os

from ._errors import ArgumentError, UnsupportedError
from ._pattern import Pattern


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


def plain_json(settings):
    """Settings as JSON, without those that are None. ArgumentError for a number that is not finite."""
    given = {name: value for name, value in settings.items() if value is not None}
    try:
        return json.dumps(given, default=_plain, allow_nan=False)
    except ValueError:
        for name, value in given.items():
            _require_finite(name, value)
        raise


def _require_finite(name, value):
    try:
        json.dumps(value, default=_plain, allow_nan=False)
    except ValueError:
        raise ArgumentError(f"{name}: expected a finite number, found {value!r:.80}") from None


def _plain(value):
    if isinstance(value, Pattern):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if hasattr(value, "tolist"):  # of NumPy and PyTorch
        return value.tolist()
    raise TypeError(f"a setting is {value!r:.80}, a {type(value).__name__}; expected a number, a text, or a list of them")
