# SPDX-License-Identifier: Apache-2.0
"""Changes to a directory of files: bytes, JSON values, tensor headers, compressed members, and files as wholes."""

import gzip
import json
import os
import struct
import zlib

# Values that lie at a limit of some type, or are of another type than a reader expects.
EDGES = [None, True, False, 0, -1, 1, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -(2**63), 1e308, -0.0, 0.5, "", "x", "0",
         "../../etc/passwd", "/dev/zero", "nan", "\u0000", "\ud7ff", "x" * 10_000, [], {}, [[]], {"": None}, [0] * 1000, "causal & window(0)",
         "heads(" * 200, "\x1b[31mred\n"]


def mutate(directory, draw):
    """One to three changes below `directory`, drawn from `draw` (random.Random); the names of the files that changed."""
    changed = []
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        files = sorted(path for path in directory.rglob("*") if path.is_file() and not path.is_symlink())
        if not files:
            return changed
        path = draw.choice(files)
        change_file(path, files, draw)
        changed.append(path.name)
    return changed


def change_file(path, files, draw):
    if draw.random() < 0.12:
        change_whole(path, files, draw)
        return
    content = path.read_bytes()
    changes = [change_bytes]
    if path.suffix == ".json":
        changes += [change_json] * 5
    if path.suffix == ".jsonl":
        changes += [change_json_line] * 3
    if path.suffix == ".safetensors":
        changes += [change_tensor_header] * 4
    if path.suffix == ".gz":
        changes += [change_gzip_member]
    path.write_bytes(draw.choice(changes)(content, draw))


def change_whole(path, files, draw):
    """The file goes, is cut, empty, a link, a folder, a FIFO, or another file's content."""
    kind = draw.randrange(8)
    content = path.read_bytes()
    path.unlink()
    if kind == 1:
        path.write_bytes(content[:draw.randrange(len(content) + 1)])
    elif kind == 2:
        path.write_bytes(b"")
    elif kind == 3:
        path.symlink_to(draw.choice(["/dev/zero", "/etc/passwd", path.name, "missing", "/dev/full"]))
    elif kind == 4:
        path.mkdir()
    elif kind == 5:
        os.mkfifo(path)
    elif kind == 6:
        other = draw.choice(files)
        path.write_bytes(other.read_bytes() if other.is_file() else b"\n")
    elif kind == 7:
        path.write_bytes(content + content)


def change_bytes(content, draw):
    content = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 8])):
        at = draw.randrange(len(content) + 1)
        kind = draw.randrange(7)
        if kind == 0 and at < len(content):
            content[at] ^= 1 << draw.randrange(8)
        elif kind == 1 and at < len(content):
            content[at] = draw.choice([0, 9, 10, 13, 34, 44, 48, 57, 92, 123, 127, 128, 192, 237, 255])
        elif kind == 2:
            del content[at:at + draw.randrange(64)]
        elif kind == 3:
            content[at:at] = content[at:at + draw.randrange(64)]
        elif kind == 4:
            content[at:at] = bytes(draw.randrange(256) for _ in range(draw.randrange(9)))
        elif kind == 5:
            content[at:at] = draw.choice([b"\0" * 4096, b"\xff" * 4096, b"(" * 4096, b"9" * 400, b" " * 100_000, b"a" * 100_000, b"\n" * 4096])
        elif kind == 6:
            del content[at:]
    return bytes(content)


def change_json(content, draw):
    try:
        value = json.loads(content)
    except ValueError:
        return change_bytes(content, draw)
    text = json.dumps(change_value(value, draw)).encode()
    return text


def change_json_line(content, draw):
    lines = content.split(b"\n")
    at = draw.randrange(len(lines))
    lines[at] = change_json(lines[at], draw) if draw.random() < 0.8 else b"junk"
    return b"\n".join(lines)


def change_value(value, draw):
    """`value` with one node put to an edge value, taken out, doubled or renamed."""
    children = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    if not children or draw.random() < 0.15:
        return edge_beside(value, draw)
    key, child = draw.choice(children)
    deeper = isinstance(child, (dict, list)) and draw.random() < 0.7
    kind = draw.randrange(6)
    if deeper or kind < 4:
        value[key] = change_value(child, draw) if deeper else edge_beside(child, draw)
    elif isinstance(value, dict):
        del value[key]
        if kind == 5:
            value[draw.choice(["x", "", key.upper(), "model_type", "vocab_size"])] = child
    elif kind == 4:
        del value[key]
    else:
        value.insert(key, child)
    return value


def edge_beside(value, draw):
    """An edge value, or for a number one that lies near it."""
    if isinstance(value, int) and not isinstance(value, bool) and draw.random() < 0.4:
        return value + draw.choice([-1, 1, value, -2 * value, 1 << 20, 1 << 40])
    if draw.random() < 0.05:
        return nested(draw.choice([100, 400, 900]))
    return draw.choice(EDGES)


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def change_tensor_header(content, draw):
    if len(content) < 8:
        return change_bytes(content, draw)
    (length,) = struct.unpack("<Q", content[:8])
    if draw.random() < 0.15:
        return struct.pack("<Q", draw.choice([0, 1, max(length - 1, 0), min(length + 1, 2**64 - 1), 2**63, 2**64 - 1, 10**8])) + content[8:]
    try:
        header = json.loads(content[8:8 + length])
    except ValueError:
        return change_bytes(content, draw)
    text = json.dumps(change_value(header, draw)).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + length:]


def change_gzip_member(content, draw):
    try:
        return gzip.compress(change_bytes(gzip.decompress(content), draw))
    except (OSError, EOFError, zlib.error):
        return change_bytes(content, draw)
