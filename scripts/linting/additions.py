# SPDX-License-Identifier: Apache-2.0
"""What an addition really touched, from the history: the files outside of its folder in the commit that brought it."""
import collections
import dataclasses
import subprocess

from . import family_rules

# What every addition brings besides: it is not what a generic room had to learn.
ASIDE = ("tests/", "docs/", "bench/", "examples/", "share/", "scripts/")
CODE = (".h", ".cpp", ".inc")
MOVED = "-M20%"  # a file that is taken apart when it moves is still that file


@dataclasses.dataclass(frozen=True)
class Addition:
    """Those that one commit brought together."""
    names: tuple
    commit: str
    lines: dict  # of sources, each with its header, outside of their folders: lines that the commit added, by path


def git(root, *words):
    found = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True)
    return found.stdout if found.returncode == 0 else ""


def is_whole(root):
    """Whether the tree has its history."""
    return git(root, "rev-parse", "--is-shallow-repository").strip() == "false"


def birth(root, name, path):
    """(commit, seconds) of the commit that brought an addition's main file, under whatever name that tells of it, or None. A copy of
    another's file is a file of its own."""
    log = git(root, "log", "--follow", MOVED, "--diff-filter=ACR", "--format=%H %ct", "--name-status", "--", path).split("\n")
    found = None
    for line in filter(None, log):
        status, *paths = line.split("\t")
        if not paths:
            found = tuple(line.split(" "))
        elif status == "A" or name.replace("_", "") not in paths[0].replace("_", ""):
            break
    return found and (found[0], int(found[1]))


def added_lines(root, commit, inside):
    """Addition.lines, but for files whose paths name one of `inside`."""
    lines = collections.Counter()
    for row in git(root, "show", "--format=", "--numstat", "-z", "--no-renames", commit).split("\0"):
        added, _, name = row.strip("\n").split("\t") if row.count("\t") == 2 else ("", "", "")
        if name.endswith(CODE) and not name.startswith(ASIDE) and not any(part in inside for part in name.replace(".", "/").split("/")):
            lines[name.rsplit(".", 1)[0]] += int(added)
    return dict(sorted(lines.items()))


def additions(root, paths):
    """All, the oldest first; `paths` are {name: its main file}."""
    births = collections.defaultdict(list)
    for name, path in paths.items():
        if found := birth(root, name, path):
            births[found].append(name)
    return [
        Addition(tuple(sorted(names)), commit, added_lines(root, commit, set(names)))
        for (commit, _), names in sorted(births.items(), key=lambda item: item[0][1])
    ]


def of_families(root, files):
    """Those of models."""
    names = sorted("_".join(words) for words in family_rules.families(files))
    return additions(root, {name: f"{family_rules.FOLDER}{name}/family.cpp" for name in names})
