# SPDX-License-Identifier: Apache-2.0
"""Sparse attention as a pattern: one expression says which position looks at which.

    >>> import weft_attention as weft
    >>> weft.Pattern("causal & window(4)").to_dense(3).tolist()
    [[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]

`attend` computes with PyTorch, which is loaded at the first call; patterns need none. `weft_attention.transformers` puts
it into models that people have already. `open`, `train`, `profile` and `propose` are the tasks of the program `weft`,
with the package weft-attention-runtime.
"""

from ._attend import attend
from ._block_mask import block_mask
from ._core import version as __version__
from ._errors import ArgumentError, PatternError, UnsupportedError, WeftError
from ._native import check_parts
from ._open import Model, open
from ._pattern import Pattern
from ._profile import profile, propose
from ._train import train

__all__ = [
    "ArgumentError",
    "Attend",
    "Model",
    "Pattern",
    "PatternError",
    "UnsupportedError",
    "WeftError",
    "__version__",
    "attend",
    "block_mask",
    "open",
    "profile",
    "propose",
    "train",
]

check_parts(__version__)


def __getattr__(name):
    # Attend is a torch.nn.Module, so that it waits for PyTorch.
    if name == "Attend":
        from ._attend import module_class

        globals()["Attend"] = module_class()
        return globals()["Attend"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
