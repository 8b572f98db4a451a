# SPDX-License-Identifier: Apache-2.0
"""A family lives in its folder: elsewhere in the rooms that compute, no code compares a model_type or names a family.

Families are the rows of src/weft/models/families/list.inc. A name counts as an identifier or a part of one (`led_config`, `LedConfig`),
as a word of a text (`"led"`) and as a folder that is included. A name that is called (`bigbird(...)`) is an expression of the pattern
language, a text with a command in it ("weft init --family bert") is an example, comments may tell whose idea something is, and identifiers
may have the name of a mechanism's folder (EtcStructure): that is a kind of attention, which any family may take.
"""
import re

from .sources import Offence

RULE = "family"
ROOMS = set("layers models checkpoint data generation training tasks fine_tuning bench report runs viewer service cli".split())
FOLDER = "src/weft/models/families/"
LIST = FOLDER + "list.inc"
MECHANISM = re.compile(r"^src/weft/attention/mechanisms/(\w+)/")
ROW = re.compile(r"^\s*WEFT_FAMILY\((\w+)\b", re.MULTILINE)
OWN = {"weft"}  # a family, a namespace and a program
COMPARED = re.compile(r"\bmodel_type(?:\(\)|_)?\s*[!=]=|[!=]=\s*(?:\w+(?:\(\))?(?:\.|->|::))*model_type\b")
INCLUDED = re.compile(r'^\s*#\s*include\s*"weft/models/families/([^/"]+)/')
PIECE = re.compile(r'"(?:\\.|[^"\\])*"|//.*|/\*.*?\*/|\w+|[^\w"/]+|.')
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
WORD = re.compile(r"(?<![\w-])([A-Za-z][\w-]*)(\()?")
EXAMPLE = re.compile(r"\bweft \w|--\w")


def families(files):
    """The names of list.inc, in words: ("big", "bird")."""
    listed = next((file for file in files if file.path == LIST), None)
    return {tuple(name.split("_")) for name in ROW.findall(listed.text if listed else "") if name not in OWN}


def kinds_of_names(files, names):
    """Names that an identifier may not have: the families', but for those of mechanisms."""
    return names - {tuple(match.group(1).split("_")) for file in files if (match := MECHANISM.match(file.path))}


def in_pieces(line):
    """A line of code without its comment."""
    return [piece for piece in PIECE.findall(line) if not piece.startswith(("//", "/*"))]


def offences(files):
    """Those of the sources outside of families' folders."""
    names = families(files)
    kinds = kinds_of_names(files, names)
    for file in files:
        if file.is_cpp and file.room in ROOMS and not file.path.startswith(FOLDER):
            for number, line in enumerate(file.lines, start=1):
                pieces = in_pieces(line)
                if COMPARED.search("".join(pieces)):
                    yield Offence(file.path, number, RULE, "found a comparison of model_type; ask the family or its blueprint")
                for name in sorted(set(named(line, pieces, names, kinds))):
                    yield Offence(file.path, number, RULE, f"found {name}; what is one family's belongs in {FOLDER}")


def places(files):
    """{family, in words: the generic sources, each with its header, that name it}: its row, its tokeniser, and what the rule lets past."""
    names = families(files)
    kinds = kinds_of_names(files, names)
    found = {name: set() for name in names}
    for file in files:
        if file.is_cpp and (file.room in ROOMS or file.room == "text"):
            if tuple(file.path.removeprefix(FOLDER).split("/")[0].split("_")) in names:
                continue  # a family may begin with the rules of another
            for line in file.lines:
                for piece in named(line, in_pieces(line), names, kinds):
                    words = tuple(word.lower() for part in re.split(r"[-_]", piece.strip('"')) for word in CAMEL.split(part) if word)
                    for name in longest(words, names):
                        found[name].add(file.path.rsplit(".", 1)[0])
    return found


def longest(words, names):
    """The names among the words, but for those that lie in a longer one."""
    hits = {(i, i + len(name)): name for name in names for i in range(len(words)) if words[i : i + len(name)] == name}
    return {name for (a, b), name in hits.items() if not any(c <= a and b <= d and (c, d) != (a, b) for c, d in hits)}


def check(files, exceptions):
    """The offences, but for files that the exceptions name."""
    unused = dict(exceptions)
    for offence in offences(files):
        key = (RULE, offence.path, "*")
        unused.pop(key, None)
        if key not in exceptions:
            yield offence
    for (rule, path, name), line in unused.items():
        yield Offence("scripts/lint-exceptions.txt", line, "exception", f"found '{rule} {path} {name}', which nothing needs")


def named(line, pieces, names, kinds):
    """The families that a line of code names; an identifier names one of `kinds`."""
    if line.lstrip().startswith("#"):
        included = INCLUDED.match(line)
        return [included.group(1)] if included and tuple(included.group(1).split("_")) in names else []
    texts = [word for piece in pieces if piece.startswith('"') for word in words_of_text(piece)]
    found = [f'"{word}"' for word in texts if tuple(re.split(r"[-_]", word)) in names]
    return found + [piece for piece in pieces if piece[0].isalpha() and is_identifier_of(piece, kinds)]


def words_of_text(literal):
    """The words of a text that are no calls; none of one with a command."""
    return [] if EXAMPLE.search(literal) else [word for word, call in WORD.findall(literal[1:-1]) if not call]


def is_identifier_of(identifier, kinds):
    parts = tuple(part.lower() for word in identifier.split("_") for part in CAMEL.split(word) if part)
    return any(parts[i : i + len(name)] == name for name in kinds for i in range(len(parts)))
