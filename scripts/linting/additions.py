# SPDX-License-Identifier: Apache-2.0
"""What an addition really touched, from the history: the files outside of its folder in the commit that brought it."""
import collections
import subprocess

# What every addition brings besides: it is not what a generic room had to learn.
ASIDE = ("tests/", "docs/", "bench/", "examples/", "share/", "scripts/")
CODE = (".h", ".cpp", ".inc")
MOVED = "-M20%"  # a file that is taken apart when it moves is still that file


def git(root, *words):
    found = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True)
    return found.stdout if found.returncode == 0 else ""


def is_whole(root):
    """Whether the tree has its history."""
    return git(root, "rev-parse", "--is-shallow-repository").strip() == "false"


def birth(root, path):
    """(commit, seconds, path then) of the commit that brought a file, under whatever name, or None."""
    log = git(root, "log", "--follow", MOVED, "--diff-filter=A", "--format=%H %ct", "--name-only", "--", path).split("\n")
    lines = [line for line in log if line]
    if len(lines) < 2:
        return None
    commit, seconds = lines[-2].split(" ")
    return commit, int(seconds), lines[-1]


def touched(root, commit, inside):
    """The sources, each with its header, that a commit changed outside of the addition's files."""
    names = git(root, "show", "--format=", "--name-only", MOVED, commit).split("\n")
    return sorted({
        name.rsplit(".", 1)[0]
        for name in names
        if name.endswith(CODE) and not name.startswith(ASIDE) and not any(part in inside for part in name.replace(".", "/").split("/"))
    })


def youngest(root, paths, count=3):
    """[(name, commit, files)] of the additions whose file came last. `paths` are {name: its main file}; additions that one commit brought
    together are one line."""
    births = collections.defaultdict(list)
    for name, path in paths.items():
        found = birth(root, path)
        if found:
            births[found[:2]].append(name)
    last = sorted(births.items(), key=lambda item: item[0][1])[-count:]
    return [(", ".join(sorted(names)), commit[:8], touched(root, commit, set(names))) for (commit, _), names in last]
