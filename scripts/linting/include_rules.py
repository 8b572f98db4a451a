# SPDX-License-Identifier: Apache-2.0
"""Rules on #include: the order of the rooms, where LibTorch may be seen, what kernels may pull in."""
import re

from .sources import Offence

ROOMS = (
    "core pattern inspect kernels formats text readers metrics profile hub store server page requests attention layers models checkpoint data generation training tasks fine_tuning bench report runs viewer service cli".split()
)
TORCH_FREE = ROOMS[: ROOMS.index("attention")]
FRONT = "src/weft/cli/front/"  # the half of the command line that sees no LibTorch: it includes rooms without LibTorch and itself only
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
TORCH = re.compile(r"^(torch|ATen|c10|caffe2)/")
WIDE = {"torch/torch.h", "torch/all.h", "torch/extension.h"}
# Every member is a template or inline: the linker keeps one copy, which may be the one that was compiled for AVX-512.
CONTAINERS = set(
    "vector string map set unordered_map unordered_set deque list forward_list queue stack sstream iostream fstream regex".split()
)
ISA_SOURCE = re.compile(r"_(generic|avx2|avxvnni|avx512|avx512vnni|avx512bf16|amx)\.cpp$")


def includes(file):
    """(line, quoted, header) of every include of a file."""
    for number, line in enumerate(file.lines, start=1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1) == '"', match.group(2)


def check(files):
    cpp = {file.path: file for file in files if file.is_cpp}
    for file in cpp.values():
        yield from check_spelling(file, cpp)
        if file.room:
            yield from check_room(file)
        if file.room == "kernels" and (file.suffix == ".h" or ISA_SOURCE.search(file.path)):
            yield from check_containers(file, cpp)


def check_spelling(file, cpp):
    """Project headers are written from src/ and exist; LibTorch's catch-all headers are not used."""
    for line, quoted, header in includes(file):
        if header in WIDE:
            yield Offence(file.path, line, "wide-include", f"found <{header}>, include the narrow header")
        if header.startswith("weft/") and f"src/{header}" not in cpp:
            yield Offence(file.path, line, "include", f"found no src/{header}")
        if header.startswith("../") or (file.room and quoted and not header.startswith("weft/")):
            yield Offence(file.path, line, "include", f'found "{header}", write it from src/ ("weft/...")')


def check_room(file):
    if file.room not in ROOMS:
        yield Offence(file.path, 1, "room", f"found {file.room}, which scripts/linting/include_rules.py does not list")
        return
    in_front = file.path.startswith(FRONT)
    for line, _, header in includes(file):
        other = header.split("/")[1] if header.startswith("weft/") and header.count("/") > 1 else None
        if other in ROOMS and ROOMS.index(other) > ROOMS.index(file.room):
            yield Offence(file.path, line, "room-order", f"found {file.room} including {other}, which comes after it")
        if (file.room in TORCH_FREE or in_front) and TORCH.match(header):
            yield Offence(file.path, line, "torch-free", f"found <{header}> in a room that sees no LibTorch")
        if in_front and other is not None and other not in TORCH_FREE and not f"src/{header}".startswith(FRONT):
            yield Offence(file.path, line, "torch-free", f"found {header}, which may see LibTorch, in {FRONT}, which sees none")


def check_containers(file, cpp):
    """Follows project headers: what matters is what the compiler sees."""
    seen, waiting = {file.path}, [(file, None)]
    while waiting:
        current, first_line = waiting.pop()
        for line, _, header in includes(current):
            origin = first_line or line
            if header in CONTAINERS:
                through = "" if current is file else f" through {current.path}"
                yield Offence(file.path, origin, "kernel-container", f"found <{header}>{through}; kernels see no STL container")
            path = f"src/{header}"
            if path in cpp and path not in seen:
                seen.add(path)
                waiting.append((cpp[path], origin))
