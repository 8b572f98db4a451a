# SPDX-License-Identifier: Apache-2.0
"""Settings of a call as JSON, in which they cross the border to the library and its runtime."""
import json
import os

from ._errors import ArgumentError


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
    if hasattr(value, "expression"):  # of a Pattern
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if hasattr(value, "tolist"):  # of NumPy and PyTorch
        return value.tolist()
    raise TypeError(f"a setting is {value!r:.80}, a {type(value).__name__}; expected a number, a text, or a list of them")
