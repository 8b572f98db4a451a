# SPDX-License-Identifier: Apache-2.0
"""Files of a room are compiled several at once, so a name that is private to one may not stand in another of its room."""
import collections
import re

from .sources import Offence

TYPE = re.compile(r"^(?:template\s*<.*>\s*)?(?:struct|class|enum(?: class)?)\s+(\w+)")
# Not members: their class has a private name.
NAME = re.compile(r"^(?!using\b|namespace\b|static_assert\b|template\b|TEST|INSTANTIATE)[A-Za-z][\w:<>,&*\s]*?(?<!::)\b(\w+)\s*(?:\(|=|\{|;|\[)")


def check(files):
    rooms = collections.defaultdict(lambda: collections.defaultdict(list))
    for file in files:
        parts = file.path.split("/")
        room = file.room or (parts[1] if parts[0] == "tests" and len(parts) > 2 else None)
        if file.suffix == ".cpp" and room and room not in ("fuzz", "consumer"):
            for line, name in private_names(file):
                rooms[(parts[0], room)][name].append((file, line))
    for names in rooms.values():
        for name, places in names.items():
            first = places[0][0].path
            for file, line in places[1:]:
                if file.path != first:
                    yield Offence(file.path, line, "private-name", f"found {name}, which {first} has as well; they are compiled together")


def private_names(file):
    """(line, name) of what a file defines in its anonymous namespaces, at the margin."""
    inside = False
    for number, line in enumerate(file.lines, start=1):
        if line.startswith("namespace {"):
            inside = True
        elif line.startswith("}  // namespace"):
            inside = False
        elif inside:
            match = TYPE.match(line) or NAME.match(line)
            if match:
                yield number, match.group(1)
