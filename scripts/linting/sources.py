# SPDX-License-Identifier: Apache-2.0
"""The files that scripts/lint reads, what a file is, and the shape of an offence."""
import dataclasses
import os
import pathlib
import subprocess

CPP = {".h", ".cpp", ".inc", ".cu", ".cuh"}
SCRIPT = {".py", ".cmake", ".sh"}
# Not ours to shape: fixtures are data, licences are quoted.
IGNORED_PARTS = {"fixtures", "corpus", "build", ".git", "__pycache__"}


@dataclasses.dataclass(frozen=True, order=True)
class Offence:
    path: str
    line: int
    rule: str
    message: str


@dataclasses.dataclass(frozen=True)
class Source:
    path: str  # from the root, with slashes
    absolute: str
    text: str

    @property
    def lines(self):
        return self.text.splitlines()

    @property
    def suffix(self):
        return pathlib.PurePosixPath(self.path).suffix

    @property
    def is_cpp(self):
        return self.suffix in CPP

    @property
    def is_python(self):
        return self.suffix == ".py" or (self.lines[:1] and "python" in self.lines[0] and self.lines[0].startswith("#!"))

    @property
    def is_script(self):
        named = pathlib.PurePosixPath(self.path).name in {"CMakeLists.txt", "Makefile"}
        return self.suffix in SCRIPT or named or self.text.startswith("#!")

    @property
    def room(self):
        """The room of a library source, or None."""
        parts = self.path.split("/")
        return parts[2] if parts[:2] == ["src", "weft"] and len(parts) > 3 else None


def list_paths(root):
    """Tracked and untracked files that Git does not ignore; every file where the tree is no repository."""
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        return [name for name in subprocess.run(command, capture_output=True, check=True, text=True).stdout.split("\0") if name]
    return [os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names]


def read_tree(root):
    """All text files below `root` that are ours to shape."""
    files = []
    for path in sorted(set(list_paths(root))):
        absolute = root / path
        if IGNORED_PARTS.intersection(pathlib.PurePath(path).parts) or not absolute.is_file():
            continue
        try:
            files.append(Source(path.replace(os.sep, "/"), str(absolute), absolute.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue
    return files


def read_exceptions(root):
    """Lines `rule path function: reason` of scripts/lint-exceptions.txt, as {(rule, path, function): line}."""
    path = root / "scripts/lint-exceptions.txt"
    exceptions = {}
    for line, text in enumerate(path.read_text().splitlines() if path.exists() else [], start=1):
        if text and not text.startswith("#"):
            rule, file, function = text.split(": ")[0].split(" ", 2)
            exceptions[(rule, file, function)] = line
    return exceptions
