# SPDX-License-Identifier: Apache-2.0
"""Rules on functions, measured by lizard: lines, parameters, cyclomatic complexity. Parameters of Python that a call must name do not count."""
import ast
import dataclasses
import os

from .sources import Offence

FUNCTION_LINES = 60
PARAMETERS = 6
COMPLEXITY = 15
EXCEPTIONS = "scripts/lint-exceptions.txt"


@dataclasses.dataclass(frozen=True)
class Function:
    path: str
    line: int
    name: str
    lines: int
    parameters: int
    complexity: int


def unnamed_parameters(file):
    """{line: parameters that a call need not name} of the functions of a Python file."""
    try:
        tree = ast.parse(file.text)
    except SyntaxError:
        return {}
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return {node.lineno: len(node.args.posonlyargs) + len(node.args.args) for node in functions}


def measure(files):
    """Every function of the C++ and Python files."""
    try:
        import lizard
    except ImportError:
        raise SystemExit("lint: the Python package lizard is missing; run scripts/setup")
    names = {file.absolute: file.path for file in files if file.is_cpp or file.suffix == ".py"}
    unnamed = {file.path: unnamed_parameters(file) for file in files if file.suffix == ".py"}
    measured = lizard.analyze_files(list(names), threads=os.cpu_count() or 1, exts=lizard.get_extensions([]))
    return [
        Function(
            names[result.filename],
            found.start_line,
            found.name,
            found.end_line - found.start_line + 1,
            unnamed.get(names[result.filename], {}).get(found.start_line, found.parameter_count),
            found.cyclomatic_complexity,
        )
        for result in measured
        for found in result.function_list
    ]


def check(functions, exceptions):
    """Functions over a cap, but for those that the exceptions name; an exception that nothing needs is an offence as well."""
    unused = dict(exceptions)
    for function in functions:
        for rule, found, cap in (
            ("function-lines", function.lines, FUNCTION_LINES),
            ("parameters", function.parameters, PARAMETERS),
            ("complexity", function.complexity, COMPLEXITY),
        ):
            if found <= cap:
                continue
            key = (rule, function.path, function.name)
            unused.pop(key, None)
            if key not in exceptions:
                yield Offence(function.path, function.line, rule, f"{function.name}: found {found}, cap {cap}")
    for (rule, path, name), line in unused.items():
        yield Offence(EXCEPTIONS, line, "exception", f"found '{rule} {path} {name}', which nothing needs")
