# SPDX-License-Identifier: Apache-2.0
"""On which device a tensor lies is a backend's question: elsewhere in the library nobody decides by it.

Code there asks a row of the list of backends, or the traits of a device (attention/backends/list.h). Where a tensor is moved to (`.to(at::kCPU)`)
and a message that names a device are no decisions.
"""
import re

from .sources import Offence

FOLDER = "src/weft/attention/backends/"
ASKED = re.compile(r"\bis_(?:cpu|cuda|hip|mps|xpu|xla|mtia|privateuseone)\(\)")
NAMED = r"(?:(?:at|c10|torch)::)?(?:k(?:CPU|CUDA|HIP|MPS|XPU)\b|DeviceType::\w+)"
COMPARED = re.compile(rf"[!=]=\s*{NAMED}|{NAMED}\s*[!=]=|\bcase\s+{NAMED}")


def check(files):
    """Decisions by device in the sources of the library, but for those of the backends."""
    for file in files:
        if file.is_cpp and file.room and not file.path.startswith(FOLDER):
            for number, line in enumerate(file.lines, start=1):
                found = ASKED.search(line.split("//")[0]) or COMPARED.search(line.split("//")[0])
                if found:
                    yield Offence(file.path, number, "device", f"found {found.group(0)}; ask a backend (attention/backends/list.h)")
