# SPDX-License-Identifier: Apache-2.0
"""What README.md and docs/**/*.md tell people to type: the lines of their blocks of code, and the commands inside of sentences."""

import pathlib
import re
from dataclasses import dataclass, field

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`+([^`]+)`+")
# Programs that do not come with Weft but appear beside it, and the scripts of the tree.
STARTS = re.compile(r"(\w+=\S+ )*(weft|curl|torchrun|mpirun|printf|python3 - <<'END')(\s|$)")
ASSIGNMENT = re.compile(r"\w+=('[^']*'|\"[^\"]*\"|\S+)$")
PLACEHOLDER = re.compile(r"[A-Z][A-Z_]*|IN\.\w+|OUT\.\w+|HOST:PORT|I/N")


@dataclass
class Command:
    """One command as it is printed, where it stands, and what the page says that it prints."""

    page: str
    line: int
    block: int
    text: str
    setting: str = ""  # assignments of the same block that stand before it
    printed: list = field(default_factory=list)  # lines below a `$ weft ...`

    @property
    def where(self):
        return f"{self.page}:{self.line}"

    @property
    def usage(self):
        """Whether this is a line of syntax, as `weft eval RUN [--context N]`, and no command."""
        words = re.split(r"[\s\[\]|=]+", unquoted(self.text))
        return self.text.startswith("weft ") and any(PLACEHOLDER.fullmatch(word.removesuffix("...")) for word in words)


def unquoted(text):
    return re.sub(r"'[^']*'|\"[^\"]*\"", "''", text)


def pages():
    return [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md"))]


def without_comment(text):
    """The command without the remark that stands behind it."""
    quoted = None
    for place, letter in enumerate(text):
        if quoted:
            quoted = None if letter == quoted else quoted
        elif letter in "'\"":
            quoted = letter
        elif letter == "#" and (place == 0 or text[place - 1] == " "):
            return text[:place].rstrip()
    return text.rstrip()


def block_commands(page, number, first_line, body):
    """The commands of one block. A command may go on over lines that end in a backslash, and bring its input (`<<'END'`). Where a line begins
    with `$ `, such lines are the commands and the others what they print."""
    lines = body.splitlines()
    prompted = any(line.startswith("$ ") for line in lines)
    found, setting, at = [], [], 0
    while at < len(lines):
        begin, text = at, lines[at].strip()
        while text.endswith("\\") and at + 1 < len(lines):
            at += 1
            text = text[:-1].rstrip() + " " + lines[at].strip()
        if text.endswith("<<'END'"):
            end = lines.index("END", at)
            text, at = "\n".join([text, *lines[at + 1:end + 1]]), end
        else:
            text = without_comment(text)
        at += 1
        if prompted and not text.startswith("$ "):
            found[-1].printed.append(lines[begin])
        elif ASSIGNMENT.fullmatch(text):
            setting.append(text)
        elif STARTS.match(text.removeprefix("$ ")):
            found.append(Command(page, first_line + begin, number, text.removeprefix("$ "), "; ".join(setting)))
    return found


def of_page(path):
    page, text = str(path.relative_to(SOURCE)), path.read_text(encoding="utf-8")
    found = []
    for number, block in enumerate(FENCE.finditer(text)):
        if block.group(1) in ("", "bash", "sh", "console"):
            first = text.count("\n", 0, block.start()) + 2
            found += block_commands(page, number, first, block.group(2))
    return found


def in_sentences(path):
    """(where, text) of each `weft ...` inside of a sentence or a table."""
    page, text = str(path.relative_to(SOURCE)), path.read_text(encoding="utf-8")
    bare = FENCE.sub(lambda block: "\n" * block.group(0).count("\n"), text)
    for span in INLINE.finditer(bare):
        code = " ".join(span.group(1).split())
        if code.startswith("weft "):
            yield f"{page}:{bare.count(chr(10), 0, span.start()) + 1}", code


def flags_in_sentences(path):
    """(where, flag) of each `--flag ...` inside of a sentence or a table."""
    page, text = str(path.relative_to(SOURCE)), path.read_text(encoding="utf-8")
    bare = FENCE.sub(lambda block: "\n" * block.group(0).count("\n"), text)
    for span in INLINE.finditer(bare):
        if span.group(1).startswith("--"):
            yield from ((f"{page}:{bare.count(chr(10), 0, span.start()) + 1}", flag) for flag in flags(span.group(1)))


def programs_of_the_tree(path):
    """(where, text) of each line of a block that runs a script of bench/, examples/ or scripts/."""
    page, text = str(path.relative_to(SOURCE)), path.read_text(encoding="utf-8")
    for block in FENCE.finditer(text):
        first = text.count("\n", 0, block.start()) + 2
        body = re.sub(r"\\\n\s*", " ", block.group(2))
        for line in body.splitlines():
            if re.match(r"(\w+=\S+ |\S+/python3? )*(bench|examples|scripts)/\S+( |$)", line.strip()):
                yield f"{page}:{first}", without_comment(line.strip())


def flags(text):
    """The long flags that a command names, without their values."""
    return re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", unquoted(text))
