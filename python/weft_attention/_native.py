# SPDX-License-Identifier: Apache-2.0
"""What is compiled: the operators' library, and whether the PyTorch of this process can load it; and the package
weft-attention-runtime, which has the rest of Weft."""
import importlib.metadata
import pathlib
import threading

from ._errors import UnsupportedError

OLDEST_TORCH = (2, 11)
_LIBRARY = pathlib.Path(__file__).parent / "lib" / "libweft_operators.so"
_lock = threading.Lock()
_loaded = False


def load_operators():
    """Makes torch.ops.weft.attend and torch.ops.weft.attend_backward known to PyTorch, once. Raises UnsupportedError
    of one line where there is no PyTorch, or one that is too old."""
    global _loaded
    if _loaded:
        return
    torch = _torch()
    with _lock:
        if not _loaded:
            _load(torch)
            _loaded = True


def _torch():
    wanted = ".".join(str(part) for part in OLDEST_TORCH)
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise UnsupportedError(
            f"attention is computed with PyTorch {wanted} or newer, and there is none", "pip install torch"
        ) from None
    if version_of(torch.__version__) < OLDEST_TORCH:
        raise UnsupportedError(
            f"attention is computed with PyTorch {wanted} or newer; this one is {torch.__version__}",
            "pip install --upgrade torch",
        )
    return torch


def version_of(text):
    """(2, 11) of "2.11.0+cpu"; a part that is no number counts as 0."""
    parts = text.split("+")[0].split(".")[:2]
    return tuple(int(part) if part.isdigit() else 0 for part in parts)


def _load(torch):
    if not _LIBRARY.is_file():
        raise UnsupportedError(f"the operators' library {_LIBRARY} is missing", "install weft-attention anew")
    try:
        torch.ops.load_library(str(_LIBRARY))
    except OSError as error:
        raise UnsupportedError(f"PyTorch {torch.__version__} cannot load {_LIBRARY}: {error}") from None


def load_runtime(what):
    """The module weft_attention_runtime._runtime, over the PyTorch of this process. Raises UnsupportedError of one line,
    which begins with `what` is asked for, where it is not installed, or is for other versions."""
    try:
        import weft_attention_runtime
    except ModuleNotFoundError as error:
        if error.name != "weft_attention_runtime":
            raise
        raise UnsupportedError(
            f"{what} needs the package weft-attention-runtime, which is not installed",
            "scripts/wheels of Weft's sources makes its wheel (docs/python.md)",
        ) from None
    return weft_attention_runtime.load()


def check_parts(version):
    """Raises UnsupportedError of one line unless all installed parts of Weft have the version of the native module."""
    for part in ("weft-attention", "weft-attention-runtime"):
        try:
            found = importlib.metadata.version(part)
        except importlib.metadata.PackageNotFoundError:
            continue
        if found != version:
            raise UnsupportedError(
                f"{part} {found} is installed beside a native module of {version}: they must have one version",
                f"pip install --force-reinstall {part}=={version}",
            )
