# SPDX-License-Identifier: Apache-2.0
"""`python -m weft_attention COMMAND ...` is the program `weft` where the package weft-attention-runtime has it; else it
runs those commands that need no tensors."""
import importlib.metadata
import importlib.util
import sys

from . import _core
from ._errors import WeftError
from ._native import OLDEST_TORCH, check_parts


def versions():
    """What is installed, without loading PyTorch."""
    try:
        torch = f"PyTorch {importlib.metadata.version('torch')}"
    except importlib.metadata.PackageNotFoundError:
        torch = "no PyTorch"
    oldest = ".".join(str(part) for part in OLDEST_TORCH)
    return (
        f"weft-attention {_core.version}\n"
        f"attention for PyTorch {oldest} and newer; this Python has {torch}\n"
        f"kernels for {_core.isa()}"
    )


def refuse_tensors(arguments):
    """Says which commands are here where one is asked for that computes with tensors."""
    named = next((argument for argument in arguments if not argument.startswith("-")), None)
    if named in _core.tensor_commands():
        here = ", ".join(_core.commands())
        raise WeftError(
            f"weft {named} computes with tensors, which needs the whole program (the package weft-attention-runtime); "
            f"this package has: {here}, version"
        )


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        check_parts(_core.version)
        if importlib.util.find_spec("weft_attention_runtime") is not None:
            from weft_attention_runtime._program import main as whole_program

            return whole_program(arguments)
        if arguments[:1] == ["version"]:
            print(versions())
            return 0
        refuse_tensors(arguments)
    except WeftError as error:
        hint = f"\nhint: {error.hint}" if error.hint else ""
        print(f"weft: error: {error}{hint}", file=sys.stderr)
        return 1
    sys.stdout.flush()
    return _core.run(["weft", *arguments])


if __name__ == "__main__":
    sys.exit(main())
