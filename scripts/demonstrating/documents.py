# SPDX-License-Identifier: Apache-2.0
"""The text of the demo: the headers that LibTorch brings, or a text of the user's own. Each is cut into one to train on and one to hold out."""
import pathlib
import re

SMALLEST_TEXT = 200_000
HELD_OUT_BYTES = 100_000


class Problem(Exception):
    """What is wrong, in one line."""


def torch_headers(cache):
    """LibTorch's folder of headers, as a configured build tree names it."""
    found = re.search(r"^TORCH_INCLUDE_DIR:\w*=(.+)$", cache.read_text(), re.MULTILINE) if cache.is_file() else None
    if not found or not pathlib.Path(found[1]).is_dir():
        raise Problem(f"{cache} names no LibTorch headers: run make build")
    return pathlib.Path(found[1])


def headers_text(folder):
    """(training text, held-out text) of the headers, in order of path. Generated ones (a file for each operator) are left out. Files that differ
    only behind the first _ or . of their names stay together, and every 400th such group is held out."""
    files = sorted(path for path in folder.rglob("*.h") if "ops" not in path.relative_to(folder).parts)
    parts, group, last = {True: [], False: []}, 0, None
    for path in files:
        stem = (path.parent, re.split(r"[_.]", path.name)[0])
        group, last = group + (stem != last), stem
        parts[group % 400 == 200].append(path.read_bytes())
    return b"".join(parts[False]), b"".join(parts[True])


def own_text(path):
    """(training text, held-out text): the files of a folder in order of path, or one file; the last twentieth is held out."""
    if not path.exists():
        raise Problem(f"there is no {path}")
    files = [path] if path.is_file() else sorted(
        file for file in path.rglob("*") if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts))
    text = b"".join(file.read_bytes() for file in files)
    if len(text) < SMALLEST_TEXT:
        raise Problem(f"{path} has {len(text):,} bytes; a demo needs {SMALLEST_TEXT:,} or more")
    cut = len(text) - min(len(text) // 20, HELD_OUT_BYTES)
    return text[:cut], text[cut:]
