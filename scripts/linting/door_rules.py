# SPDX-License-Identifier: Apache-2.0
"""The door to files of directories: in the rooms that open models and runs, whoever reads a file says which kind it is.

A reader there is given a `ModelFile` (a name below a directory, whose links may not leave it), or a path that passes through
`named_by_user(...)`. A path that was put together by hand would follow a link to wherever it leads.
"""
import re

from .sources import Offence

ROOMS = set("pattern text profile page checkpoint generation training tasks fine_tuning bench report runs viewer service cli".split())
READERS = "read_file formats::read_json formats::read_json_object formats::read_json_lines read_pickled_words open_tensor_file open_sharded_tensors".split()
READERS += "load_sentencepiece load_tensors digest_of_file read_npy".split()
CALL = re.compile(r"(?<![\w.>])(?:\w+::)*(?:%s)\(\s*([^\s,()]*)(\(?)" % "|".join(READERS))
OBJECT = re.compile(r"\b(?:MappedFile|SafetensorsFile|TorchFile)\s+\w+[({]\s*([^\s,(){}]*)(\(?)")
RAW = re.compile(r"\b(?:std::ifstream|std::fopen|fopen|Descriptor::open_regular|O_RDONLY)\b")
DOORS = {"ModelFile", "named_by_user", "weft::named_by_user"}
DECLARED = r"\b(?:ModelFile|FilePlace)&?\s+%s\b"


def check(files):
    """All readings of a file whose kind is not said, in the sources of the rooms."""
    for file in files:
        if file.suffix == ".cpp" and file.room in ROOMS:
            yield from check_file(file)


def check_file(file):
    for number, line in enumerate(file.lines, start=1):
        code = line.split("//")[0]
        raw = RAW.search(code)
        if raw:
            yield Offence(file.path, number, "door", f"found {raw.group(0)}; read_file() and MappedFile take a ModelFile")
        for match in [*CALL.finditer(code), *OBJECT.finditer(code)]:
            argument, call = match.group(1), match.group(2)
            if not is_door(file, argument, call):
                yield Offence(file.path, number, "door", f"found a reading of '{argument}'; give a ModelFile, or named_by_user(PATH)")


def is_door(file, argument, call):
    """Whether the argument says its kind: a door's call, a parameter's declaration, or a name that is declared as one."""
    if call:
        return argument in DOORS
    if argument in ("const", "std::string_view"):  # the function itself
        return True
    return bool(re.fullmatch(r"\w+", argument) and re.search(DECLARED % argument, file.text))
