#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The notebook of examples/ where transformers is there: tests/python/notebook_test.py leaves out the cells that need it, which compare a model
with its attention by sdpa."""
import json
import os
import pathlib
import sys

NOTEBOOK = pathlib.Path(__file__).resolve().parents[3] / "examples/notebook/attention.ipynb"
PACKAGE = str(pathlib.Path(os.environ["WEFT_BINARY"]).parent.parent / "python")
sys.path[:0] = [PACKAGE, str(NOTEBOOK.parent)]
os.environ["PYTHONPATH"] = PACKAGE  # of the programs that the notebook starts

import run  # noqa: E402


def main():
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    with run.new_folder():
        shown = list(run.run(notebook, NOTEBOOK.name))
    left_out = sorted({cell.missing for cell in shown if cell.missing})
    if "transformers" in left_out:
        sys.exit("notebook: there is no transformers here: scripts/setup-parity installs it")
    print(f"notebook: {len(shown)} cells ran{', without those that need ' + ', '.join(left_out) if left_out else ''}")


if __name__ == "__main__":
    main()
