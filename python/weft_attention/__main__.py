# SPDX-License-Identifier: Apache-2.0
"""`python -m weft_attention COMMAND ...` runs the commands of the program `weft` that need no tensors."""
import sys

from ._core import run


def main(arguments=None):
    return run(["weft", *(sys.argv[1:] if arguments is None else arguments)])


if __name__ == "__main__":
    sys.exit(main())
