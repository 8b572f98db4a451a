#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the code cells of a notebook in their order, without Jupyter, and prints what they show.

    examples/notebook/run.py examples/notebook/attention.ipynb            # in a new folder, which goes when it ends
    examples/notebook/run.py examples/notebook/attention.ipynb --write    # and keeps in the file what the cells show

A cell with the tag `needs-NAME` is left out where Python has no module NAME. A cell with the tag `times` keeps nothing in the file: what it shows
is of one machine.
"""
import argparse
import ast
import contextlib
import dataclasses
import importlib.util
import io
import json
import os
import pathlib
import tempfile

NEEDS = "needs-"


@dataclasses.dataclass
class Shown:
    """What a cell shows: what it prints, its last expression, and the picture of that as SVG, if it has one. `missing` is the module without which
    the cell did not run."""

    cell: int
    printed: str = ""
    value: object = None
    picture: str = ""
    missing: str = ""

    def outputs(self):
        """The same as the file has it."""
        found = []
        if self.printed:
            found.append({"name": "stdout", "output_type": "stream", "text": self.printed.splitlines(keepends=True)})
        if self.value is not None:
            data = {"text/plain": repr(self.value).splitlines(keepends=True)}
            if self.picture:
                data["image/svg+xml"] = self.picture.splitlines(keepends=True)
            found.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
        return found


def tags_of(cell):
    return cell["metadata"].get("tags", [])


def run(notebook, name):
    """Runs the code cells of a notebook (its JSON) with one set of names, and yields what each has shown."""
    names = {"__name__": "__main__"}
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            needed = [tag.removeprefix(NEEDS) for tag in tags_of(cell) if tag.startswith(NEEDS)]
            missing = next((module for module in needed if importlib.util.find_spec(module) is None), "")
            yield Shown(number, missing=missing) if missing else run_cell("".join(cell["source"]), names, f"{name}, cell {number}", number)


def run_cell(source, names, place, number):
    tree = ast.parse(source, place)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, place, "exec"), names)
        value = None if last is None else eval(compile(last, place, "eval"), names)
    draw = getattr(value, "_repr_svg_", None)
    return Shown(number, printed.getvalue(), value, (draw and draw()) or "")


@contextlib.contextmanager
def new_folder():
    """The working directory is a new one meanwhile."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="weft-notebook-") as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebook", type=pathlib.Path)
    parser.add_argument("--write", action="store_true", help="keep in the file what the cells show")
    arguments = parser.parse_args()
    path = arguments.notebook.resolve()
    notebook = json.loads(path.read_text(encoding="utf-8"))
    with new_folder():
        for shown in run(notebook, path.name):
            cell = notebook["cells"][shown.cell]
            cell["outputs"] = [] if "times" in tags_of(cell) else shown.outputs()
            said = f"left out: there is no {shown.missing}\n" if shown.missing else shown.printed
            print(f"--- cell {shown.cell}\n{said}{'' if shown.value is None else shown.value}")
    if arguments.write:
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
