# SPDX-License-Identifier: Apache-2.0
"""Which sources clang-tidy looks at, and how each is compiled."""
import dataclasses
import json
import pathlib
import re
import shlex
import subprocess

# Of GCC's command, what clang does not know or what only matters to the output.
DROPPED = re.compile(r"-fopenmp|-Werror|-W.*|-fprofile.*|--coverage|-O\d|-Winvalid-pch")
INCLUDE = re.compile(r'^\s*#\s*include\s*"((?:weft|tests|support)/[^"]+)"', re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Unit:
    path: str  # from the root
    flags: tuple
    torch: bool
    seen: frozenset  # the source and every header of ours that it reaches

    @property
    def folder(self):
        return str(pathlib.PurePosixPath(self.path).parent)


def flags_of(entry):
    words = shlex.split(entry["command"])[1:]
    kept, skip = [], False
    for word in words:
        if skip or word in ("-o", "-c") or word == entry["file"]:
            skip = word == "-o"
            continue
        if not DROPPED.fullmatch(word):
            kept.append(word)
    return tuple(kept)


def reach(root, path, known):
    """The source at `path` and the headers of ours that it includes, directly or not."""
    if path in known:
        return known[path]
    known[path] = {path}
    try:
        text = (root / path).read_text(encoding="utf-8")
    except OSError:
        return known[path]
    for header in INCLUDE.findall(text):
        for candidate in (f"src/{header}", header, f"tests/{header}"):
            if (root / candidate).exists():
                known[path] |= reach(root, candidate, known)
    return known[path]


def read(root, database):
    """The sources of ours in a compile database, each once."""
    units, known = {}, {}
    for entry in json.loads(database.read_text()):
        path = pathlib.Path(entry["file"])
        if path.is_relative_to(root) and not path.is_relative_to(root / "build"):
            name = path.relative_to(root).as_posix()
            flags = flags_of(entry)
            torch = any("torch/csrc/api/include" in flag for flag in flags)
            units[name] = Unit(name, flags, torch, frozenset(reach(root, name, known)))
    return [units[name] for name in sorted(units)]


def changed_paths(root):
    """What differs from the commit before, or from where this branch left the main line; None where there is neither."""
    def git(*words):
        result = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True)
        return result.stdout.split("\n") if result.returncode == 0 else None

    head = git("rev-parse", "HEAD") or [""]
    base = None
    for main in ("origin/HEAD", "origin/main", "main"):
        found = git("merge-base", "HEAD", main)
        if found and found[0] != head[0]:
            base = found[0]
            break
    base = base or (git("rev-parse", "--verify", "--quiet", "HEAD~1") or [None])[0]
    if base is None:
        return None
    return set(git("diff", "--name-only", base) or []) | set(git("ls-files", "--others", "--exclude-standard") or [])


def select(root, units, everything, named):
    if named:
        wanted = {pathlib.Path(name).resolve().relative_to(root).as_posix() for name in named}
        return [unit for unit in units if unit.path in wanted]
    changed = None if everything else changed_paths(root)
    return [unit for unit in units if changed is None or not unit.torch or unit.path in changed]
