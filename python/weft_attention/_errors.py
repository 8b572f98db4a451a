# SPDX-License-Identifier: Apache-2.0
"""The exceptions of this package: each message is what was wrong, where, what was expected and what was found."""


class WeftError(Exception):
    """A known failure. `hint` says what may be done about it, and is empty where there is nothing to add."""

    def __init__(self, message, hint=""):
        super().__init__(message)
        self.hint = hint

    def __reduce__(self):
        return _rebuilt, (type(self), self.args, self.__dict__)


class ArgumentError(WeftError, ValueError):
    """A value or a shape that does not fit."""


class PatternError(WeftError, ValueError):
    """An expression that does not parse, or does not fit where it is asked. `line` and `column` count from 1; both are
    None where no place in the text is to blame."""

    def __init__(self, message, hint="", line=None, column=None):
        super().__init__(message, hint)
        self.line = line
        self.column = column


class UnsupportedError(WeftError, NotImplementedError):
    """A valid request that this build, this machine or this version of PyTorch cannot serve."""


def _rebuilt(kind, arguments, attributes):
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__.update(attributes)
    return error
