# SPDX-License-Identifier: Apache-2.0
"""The PyTorch of this Python: whether it is one that this package was built for."""
import importlib.util
import pathlib
import re

from ._built import TORCH

_HINT = f"pip install 'torch=={TORCH}.*'"


def check_torch():
    """The module torch. Raises UnsupportedError of one line where there is none, or one of another minor version:
    libweft calls PyTorch's C++, whose classes change with every minor version."""
    from weft_attention._errors import UnsupportedError

    found = torch_folder()
    if found is None:
        raise UnsupportedError(f"weft-attention-runtime computes with PyTorch {TORCH}, and there is none", _HINT)
    check_version(version_in(found))
    import torch

    check_version(torch.__version__)
    return torch


def check_version(version):
    """Raises UnsupportedError unless `version`, where it is known, has the minor version of this package."""
    from weft_attention._errors import UnsupportedError

    if version is not None and re.match(r"\d+\.\d+", version)[0] != TORCH:
        raise UnsupportedError(f"weft-attention-runtime is built for PyTorch {TORCH}; this one is {version}", _HINT)


def torch_folder():
    """Where PyTorch lies, which is not imported; None where there is none."""
    found = importlib.util.find_spec("torch")
    places = None if found is None else found.submodule_search_locations
    return pathlib.Path(places[0]) if places else None


def version_in(folder):
    """The version that PyTorch's folder names, or None."""
    try:
        text = (folder / "version.py").read_text(encoding="utf-8")
    except OSError:
        return None
    named = re.search(r"^__version__ = '(\d+\.\d+[^']*)'", text, re.MULTILINE)
    return named and named[1]
