# SPDX-License-Identifier: Apache-2.0
"""The program `weft`, which takes the place of this process."""
import os
import pathlib
import sys

from ._torch import check_version, torch_folder, version_in


def program():
    """The path of the program, and the environment in which it finds PyTorch."""
    environment = dict(os.environ)
    folder = torch_folder()
    if folder is not None:
        environment.setdefault("WEFT_LIBTORCH", str(folder))
    return pathlib.Path(__file__).parent / "bin" / "weft", environment


def main(arguments=None):
    """Becomes `weft ARGUMENTS`; those of this process by default. Returns 1 where that cannot be, after one line."""
    from weft_attention import _core
    from weft_attention._errors import WeftError

    arguments = sys.argv[1:] if arguments is None else list(arguments)
    path, environment = program()
    try:
        place = environment.get("WEFT_LIBTORCH")
        if place and _named(arguments) in _core.tensor_commands():
            check_version(version_in(pathlib.Path(place)))
        sys.stdout.flush()
        os.execve(path, ["weft", *arguments], environment)
    except WeftError as error:
        hint = f"\nhint: {error.hint}" if error.hint else ""
        print(f"weft: error: {error}{hint}", file=sys.stderr)
    except OSError as error:
        print(f"weft: error: cannot run {path}: {error.strerror}\nhint: install weft-attention-runtime anew", file=sys.stderr)
    return 1


def _named(arguments):
    """The command: the first argument that is no flag."""
    return next((argument for argument in arguments if not argument.startswith("-")), None)
