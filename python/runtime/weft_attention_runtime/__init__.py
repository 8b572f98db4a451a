# SPDX-License-Identifier: Apache-2.0
"""The library and the program of Weft, for the package weft_attention of the same version and one minor version of
PyTorch. weft_attention imports this package where it is needed; nobody else has to."""

import threading

from ._built import TORCH, VERSION
from ._built import VERSION as __version__
from ._program import program

__all__ = ["TORCH", "VERSION", "__version__", "load", "program"]

_lock = threading.Lock()
_module = None


def load():
    """The native module, over the PyTorch of this process, which is imported first. Raises UnsupportedError of one line
    where weft_attention has another version, or PyTorch is missing or has another minor version."""
    global _module
    with _lock:
        if _module is None:
            _module = _load()
    return _module


def _load():
    from weft_attention import _core
    from weft_attention._errors import UnsupportedError

    from ._fork import watch_forks
    from ._torch import check_torch

    if _core.version != VERSION:
        raise UnsupportedError(
            f"weft-attention-runtime {VERSION} is installed beside weft-attention {_core.version}: they must have one version",
            f"install the wheel of weft-attention-runtime {_core.version} (scripts/wheels makes both)",
        )
    torch = check_torch()
    from . import _runtime

    watch_forks(torch)
    return _runtime
