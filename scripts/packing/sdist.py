# SPDX-License-Identifier: Apache-2.0
"""The source distribution: what a build of the Python package reads, as one archive. pyproject.toml names it; here it is made and checked."""
import contextlib
import io
import os
import pathlib
import subprocess
import tarfile

# Written by the tool that makes the archive.
MADE = {"PKG-INFO"}


def make(root, out):
    """Writes weft_attention-X.Y.Z.tar.gz into `out` and returns its path. Raises SystemExit of one line where it does not hold what it should."""
    from scikit_build_core.build import build_sdist

    before, out = os.getcwd(), pathlib.Path(out).resolve()
    os.chdir(root)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            archive = out / build_sdist(str(out))
    finally:
        os.chdir(before)
    check(archive, root)
    return archive


def check(archive, root):
    """The archive holds every file of Git's below the names of pyproject.toml, and no other: a glob of CMake would not miss one that is lacking."""
    held, wanted = names(archive), tracked(root)
    if wanted is None:
        return
    for what, found in (("lacks", wanted - held), ("holds, and Git does not know,", held - wanted - MADE)):
        if found:
            listed = ", ".join(sorted(found)[:5])
            raise SystemExit(f"wheels: {archive.name} {what} {listed}{' and others' if len(found) > 5 else ''}")


def names(archive):
    with tarfile.open(archive) as opened:
        return {name.partition("/")[2] for name in opened.getnames()}


def tracked(root):
    """What Git has, or will have, below the names of pyproject.toml; None outside of Git."""
    import tomllib

    with open(pathlib.Path(root) / "pyproject.toml", "rb") as file:
        included = tomllib.load(file)["tool"]["scikit-build"]["sdist"]["include"]
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *(name.lstrip("/") for name in included)]
    found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode != 0 or not found.stdout:
        return None
    return {name for name in found.stdout.split("\0") if name and (pathlib.Path(root) / name).exists()}
