# SPDX-License-Identifier: Apache-2.0
"""Sparse attention as a pattern: one expression says which position looks at which."""

from ._core import version as __version__
from ._errors import ArgumentError, PatternError, UnsupportedError, WeftError

__all__ = ["ArgumentError", "PatternError", "UnsupportedError", "WeftError", "__version__"]
