#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The stubs of the compiled modules, which people's editors and type checkers read, against what nanobind says of the modules that were built: the
same names, parameters, defaults and types. A difference is named by its line."""
import ast
import importlib
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
if "WEFT_BINARY" in os.environ:
    sys.path.insert(0, str(pathlib.Path(os.environ["WEFT_BINARY"]).parent.parent / "python"))

from nanobind.stubgen import StubGen  # noqa: E402

PYTHON = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2])) / "python"


def declarations(text):
    """{name: [(line, what is declared)]}, a list because a name may be overloaded; documentation and values of variables are left out."""
    found = {}

    def visit(body, inside):
        for node in body:
            if isinstance(node, ast.ClassDef):
                name, said = inside + node.name, f"class {node.name}({', '.join(map(ast.unparse, node.bases))})"
                visit(node.body, f"{name}.")
            elif isinstance(node, ast.FunctionDef):
                name, node.body = inside + node.name, [ast.Expr(ast.Constant(...))]
                said = ast.unparse(node).removesuffix(":\n    ...")
            elif isinstance(node, ast.AnnAssign):
                name, said = inside + ast.unparse(node.target), f"{ast.unparse(node.target)}: {ast.unparse(node.annotation)}"
            else:
                continue
            found.setdefault(name, []).append((node.lineno, said))

    visit(ast.parse(text).body, "")
    return found


def differences(path, written, built):
    """A line for each declaration of the stub that the module does not have so, and for each of the module that the stub lacks."""
    written, built = declarations(written), declarations(built)
    for name in sorted(built.keys() - written.keys()):
        yield f"{path}: lacks {built[name][0][1]}"
    for name, entries in written.items():
        there = [said for _, said in built.get(name, [])]
        for line, said in entries:
            if said not in there:
                yield f"{path}:{line}: found {said}\n    the module has {'; '.join(there) or 'nothing of this name'}"
        if len(there) > len(entries):
            yield f"{path}:{entries[0][0]}: {name} has {len(there)} overloads in the module, found {len(entries)}"


class StubsTest(unittest.TestCase):
    def compare(self, module, path):
        generator = StubGen(module)
        generator.put(module)
        wrong = list(differences(path, (PYTHON / path).read_text(encoding="utf-8"), generator.get()))
        self.assertEqual(wrong, [], "\n".join(wrong))

    def test_the_core(self):
        self.compare(importlib.import_module("weft_attention._core"), "weft_attention/_core.pyi")

    def test_the_runtime(self):
        import cpu_torch  # noqa: F401
        from weft_attention._native import load_runtime

        self.compare(load_runtime("the comparison"), "runtime/weft_attention_runtime/_runtime.pyi")

    def test_a_difference_is_named_by_its_line(self):
        written = "x: int\ndef f(a: int = 1) -> str: ...\ndef gone() -> None: ...\nclass C:\n    def __init__(self, a: int) -> None: ...\n"
        built = "x: int = 3\ndef f(a: int = 2) -> str: 'doc'\nclass C:\n    def __init__(self, b: int) -> None: ...\ndef new() -> int: ...\n"
        found = "\n".join(differences("m.pyi", written, built))
        for expected in (r"m.pyi: lacks def new\(\) -> int", r"m.pyi:2: found def f\(a: int=1\)", r"module has def f\(a: int=2\)",
                         r"m.pyi:3: found def gone.*\n.*nothing of this name", r"m.pyi:5: found def __init__\(self, a: int\)"):
            self.assertRegex(found, expected)
        self.assertNotIn("m.pyi:1:", found)


if __name__ == "__main__":
    unittest.main()
