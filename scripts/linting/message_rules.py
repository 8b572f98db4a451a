# SPDX-License-Identifier: Apache-2.0
"""What a rule says is made where the rule is broken: require() is called where it holds, far more often.

A part of its message that costs something is Quoted(text), or a function: `[&] { return joined(names, ", "); }`.
"""
import re

from .sources import Offence

CALL = re.compile(r"(?<![\w.>:])require\(")
EAGER = re.compile(r"(?<![\w.:>])(?:quote|concat|joined|quoted_list)\(")
TEXT = re.compile(r'"(?:\\.|[^"\\])*"')


def check(files):
    """Calls in sources of the library whose arguments print before anything is wrong."""
    for file in files:
        if file.room and file.is_cpp and file.path != "src/weft/core/error.h":
            yield from check_file(file)


def check_file(file):
    code = TEXT.sub(lambda text: '"' + " " * (len(text.group(0)) - 2) + '"', file.text)
    for call in CALL.finditer(code):
        for begin, end in arguments(code, call.end())[1:]:
            argument = code[begin:end]
            eager = EAGER.search(argument)
            if eager and not argument.lstrip().startswith("["):
                line = code.count("\n", 0, begin + eager.start()) + 1
                yield Offence(file.path, line, "message", f"found {eager.group(0)}...) in a rule's message; give Quoted(...), or a function")


def arguments(code, begin):
    """The spans of a call's arguments; `begin` is behind its parenthesis."""
    found, depth, start = [], 1, begin
    for at in range(begin, len(code)):
        depth += (code[at] in "([{") - (code[at] in ")]}")
        if depth == 0 or (depth == 1 and code[at] == ","):
            found.append((start, at))
            start = at + 1
        if depth == 0:
            break
    return found
