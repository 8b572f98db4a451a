# SPDX-License-Identifier: Apache-2.0
"""Rules on the documents that people read: every path that they name exists."""
import pathlib
import posixpath
import re

from .sources import Offence, list_paths

ROOTS = "src|tests|docs|scripts|bench|rust|cmake|examples"
ROOTED = re.compile(rf"(?<![\w./>-])(?:{ROOTS})/[\w./*{{}},<>+-]*\w[*>}}]?")
SOURCE = re.compile(r"`([\w*<>][\w./*<>-]*\.(?:h|cpp|py|cmake))`")
LINK = re.compile(r"\]\(([^)\s#]*[./][^)\s#]*)[^)]*\)")  # a C++ lambda has `](const auto&` instead
BRACES = re.compile(r"\{([^{}]*)\}")
FOREIGN = re.compile(r"^(torch|ATen|c10)/")


def is_document(path):
    return path in ("README.md", "CONTRIBUTING.md") or (path.startswith("docs/") and path.endswith(".md"))


def check(files, root):
    """Paths below the folders of ROOTS, sources that are named in backticks, and the targets of links."""
    paths = [path.replace("\\", "/") for path in list_paths(root)]
    known = {*paths, *(str(parent) for path in paths for parent in pathlib.PurePosixPath(path).parents)}
    for file in files:
        if is_document(file.path):
            for number, line in enumerate(file.lines, start=1):
                for name in sorted(missing(file.path, line, known)):
                    yield Offence(file.path, number, "document-path", f"found '{name}', which does not exist")


def missing(document, line, known):
    """What a line of a document names and the tree does not have."""
    sources = [name for name in SOURCE.findall(line) if not FOREIGN.match(name)]
    absent = {name for name in ROOTED.findall(line) if not exists(name, known)}
    absent |= {name for name in sources if not exists(name, known) and not exists(f"*/{name}", known)}
    for target in LINK.findall(line):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(document), target))
        if "://" not in target and path not in known:
            absent.add(target)
    return absent


def exists(name, known):
    """Whether the tree has `name`. `*` and `<name>` need a match, and the same `<name>` is the same word; {a,b} need one for each."""
    braces = BRACES.search(name)
    if braces:
        return all(exists(name[: braces.start()] + part + name[braces.end() :], known) for part in braces.group(1).split(","))
    if "*" not in name and "<" not in name:
        return name in known
    pattern = re.compile(expression_of(name))
    return any(pattern.fullmatch(path) for path in known)


def expression_of(name):
    """A regular expression for the paths that a name with `*` and `<placeholders>` stands for."""
    seen, expression = set(), ""
    for piece in re.split(r"(\*|<\w+>)", name):
        word = piece[1:-1]
        if piece == "*":
            expression += ".*"
        elif piece.startswith("<") and word in seen:
            expression += f"(?P={word})"
        elif piece.startswith("<"):
            seen.add(word)
            expression += f"(?P<{word}>[^/]+)"
        else:
            expression += re.escape(piece)
    return expression
