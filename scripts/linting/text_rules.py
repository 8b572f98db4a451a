# SPDX-License-Identifier: Apache-2.0
"""Rules that need only a file's text: sizes, its opening, leftovers, the preprocessor."""
import collections
import pathlib
import re

from .sources import Offence

FILE_LINES = 500
FOLDER_FILES = 30
OPENING_LINES = 6

LICENCE = "SPDX-License-Identifier: Apache-2.0"
EXAMPLE = re.compile(r"^//\s{2}")
LEFTOVER = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
MACHINE_PATH = re.compile(r"(?<![\w.$}])/(home|root|work|Users|tmp)/\w+/")
# LibTorch declares these for files from trusted places only: they run what is pickled.
TRUSTING = re.compile(r"\b(torch::(jit::)?(load|import_ir_module|unpickle)|(un)?pickle_load|jit::load|_load_for_mobile)\s*\(")
CONDITION = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b(.*)")
CONDITION_NAME = re.compile(
    r"defined|__has_include|__x86_64__|__aarch64__|__AVX\w*|__AMX\w*|__SSE\w*|__F16C__|__FMA__|__ARM\w*|\w*CUDA\w*|\w*EXPORT\w*|_WIN32"
)
# A library names options by their fields (core/system/option_name.h); whole commands in a text are advice to people.
# Colours of a style sheet have such names, too: "--ink:#222", "var(--ink)".
FLAG = re.compile(r'"(?:\\.|[^"\\])*(?<![\w-])(?<!var\()--[a-z][\w-]*+(?!:[#\d])(?:\\.|[^"\\])*"')
COMMAND = re.compile(r"\b(?:weft|xz|zstd|bzip2|lz4|gzip) ")
DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)")
OWN_MACRO = re.compile(r"WEFT_(REGISTER|EXPORT|FAMILY|DEVICE|ROW_k)\w*")
CPP_CODE = re.compile(
    r"^\s*//(?!/)\s*("
    r"(if|for|while|switch)\s*\(.*\)\s*\{?$"
    r"|(return|throw|delete|break|continue)\b.*;$"
    r"|#\s*(include|define|if|endif|pragma)\b.*"
    r"|[\w:<>,&*\s\[\].>-]+\(.*\)\s*;$"
    r"|[\w:<>,&*\s\[\].>-]+[^=<>!]=[^=].*;$"
    r"|\}\s*(else\b.*)?;?$"
    r")"
)
PYTHON_CODE = re.compile(
    r"^\s*#\s*((def|class)\s+\w+.*:$|(if|for|while)\b.*:$|import\s+\w+$|from\s+\w+\s+import\b.*|return\s+\w+[\w.()]*$|[\w.]+\s*=\s*[\w.]+\(.*\)$|[\w.]+\(.*\)$)"
)


def check(files):
    """All offences of the files' own text, and of the folders that they lie in."""
    for file in files:
        if file.is_cpp or file.is_script:
            yield from check_source(file)
        yield from check_words(file)
    yield from check_folders(files)


def check_source(file):
    if len(file.lines) > FILE_LINES:
        yield Offence(file.path, 1, "file-lines", f"found {len(file.lines)}, cap {FILE_LINES}")
    yield from check_opening(file)
    if file.is_cpp:
        yield from check_preprocessor(file)
        yield from check_trust(file)
        yield from check_flags(file)
        yield from check_dead_code(file, CPP_CODE)
    elif file.is_python:
        yield from check_dead_code(file, PYTHON_CODE)


def check_opening(file):
    """The licence line comes first (after an interpreter line), then what the file is for."""
    lines = [line for line in file.lines if not line.startswith("#!")]
    if not lines or LICENCE not in lines[0]:
        yield Offence(file.path, 1, "licence", f"found no '{LICENCE}' in the first line")
        return
    if not file.is_cpp:
        return
    opening = sum(1 for line in lines[1 : opening_end(lines)] if not EXAMPLE.match(line))
    if not 1 <= opening <= OPENING_LINES:
        yield Offence(file.path, 2, "opening", f"found {opening} comment lines on what the file is for, expected 1 to {OPENING_LINES}")
    if file.suffix == ".h" and "#pragma once" not in file.lines:
        yield Offence(file.path, 1, "pragma-once", "found none in a header")


def opening_end(lines):
    """The number of lines before the first that is no comment."""
    return next((number for number, line in enumerate(lines) if not line.startswith("//")), len(lines))


def check_words(file):
    """Leftovers and paths of one machine, in any text."""
    for number, line in enumerate(file.lines, start=1):
        leftover = LEFTOVER.search(line)
        if leftover:
            yield Offence(file.path, number, "leftover", f"found '{leftover.group(0)}', cap 0")
        path = MACHINE_PATH.search(line)
        if path:
            yield Offence(file.path, number, "machine-path", f"found '{path.group(0)}', a path of one machine")


def check_preprocessor(file):
    for number, line in enumerate(file.lines, start=1):
        condition = CONDITION.match(line)
        if condition:
            names = re.findall(r"[A-Za-z_]\w*", condition.group(2).split("//")[0])
            foreign = [name for name in names if not CONDITION_NAME.fullmatch(name)]
            if foreign:
                yield Offence(file.path, number, "conditional", f"found {foreign[0]}, allowed for ISA, export and CUDA only")
        define = DEFINE.match(line)
        if define and not OWN_MACRO.fullmatch(define.group(1)):
            yield Offence(file.path, number, "macro", f"found {define.group(1)}, allowed for registration, export and devices only")


def check_trust(file):
    for number, line in enumerate(file.lines, start=1):
        call = TRUSTING.search(line)
        if call:
            yield Offence(file.path, number, "trusted-input", f"found '{call.group(0)}', which runs what a file holds, cap 0")


def check_flags(file):
    if file.suffix != ".cpp" or file.room in (None, "cli"):
        return
    for number, line in enumerate(file.lines, start=1):
        for text in FLAG.findall(line.split("//")[0]):
            if not COMMAND.search(text):
                yield Offence(file.path, number, "flag", f"found {text[:60]}; a library says option(\"name\")")


def check_dead_code(file, pattern):
    """Comments that are code; the opening of a file may hold an indented example."""
    opening = opening_end(file.lines)
    for number, line in enumerate(file.lines, start=1):
        if number <= opening and EXAMPLE.match(line):
            continue
        if pattern.match(line):
            yield Offence(file.path, number, "dead-code", f"found commented-out code '{line.strip()[:60]}', cap 0")


def check_folders(files):
    counts = collections.Counter(str(pathlib.PurePosixPath(file.path).parent) for file in files)
    for folder, count in counts.items():
        if count > FOLDER_FILES:
            yield Offence(folder, 0, "folder-files", f"found {count}, cap {FOLDER_FILES}")
