# SPDX-License-Identifier: Apache-2.0
"""Documents that quote themselves, cut from real text: the headers that LibTorch brings, or a text of the user's.

A document is the text in its own order, interrupted by quotations: `>>>`, a passage that stood further up, `<<<`. Whoever can look back finds the
passage and knows how the quotation goes on; whoever cannot has to guess it. Nothing else is changed in the text.
"""
import dataclasses
import math
import pathlib
import random
import re

OPENING, CLOSING = b"\n>>> ", b"\n<<<\n"
SMALLEST_TEXT = 200_000
HELD_OUT_BYTES = 200_000


class Problem(Exception):
    """What is wrong, in one line."""


@dataclasses.dataclass(frozen=True)
class Quotation:
    begin: int  # its first byte in the document
    end: int  # the byte after its last one
    distance: int  # from a byte of the quotation to the same byte of the passage


def torch_headers(cache):
    """LibTorch's folder of headers, as a configured build tree names it."""
    found = re.search(r"^TORCH_INCLUDE_DIR:\w*=(.+)$", cache.read_text(), re.MULTILINE) if cache.is_file() else None
    if not found or not pathlib.Path(found[1]).is_dir():
        raise Problem(f"{cache} names no LibTorch headers: run make build")
    return pathlib.Path(found[1])


def headers_text(folder):
    """(training text, held-out text) of the headers, in order of path. Generated ones (a file for each operator) are left out. Files that differ
    only behind the first _ or . of their names stay together, and every 40th such group is held out."""
    files = sorted(path for path in folder.rglob("*.h") if "ops" not in path.relative_to(folder).parts)
    parts, group, last = {True: [], False: []}, 0, None
    for path in files:
        stem = (path.parent, re.split(r"[_.]", path.name)[0])
        group, last = group + (stem != last), stem
        parts[group % 40 == 20].append(path.read_bytes())
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


def logarithmic(draw, low, high):
    return int(low * (high / low) ** draw.random())


def quoting(text, size, reach, seed):
    """(document, quotations) of `size` bytes: passages of `text` one after another, again from the start where it ends, and after each a quotation of
    100 to 500 bytes of what stands less than `reach` bytes above."""
    draw, document, quotations, place = random.Random(seed), bytearray(), [], 0
    while len(document) < size:
        fresh = text[place:place + logarithmic(draw, 200, 1000)]
        place = place + len(fresh) if place + len(fresh) < len(text) else 0
        document += fresh
        length = logarithmic(draw, 100, 500)
        begin = len(document) + len(OPENING) - logarithmic(draw, length + 50, reach)
        if begin < 0:
            continue
        quoted = bytes(document[begin:begin + length])
        document += OPENING
        quotations.append(Quotation(len(document), len(document) + length, len(document) - begin))
        document += quoted + CLOSING
    return bytes(document), quotations
