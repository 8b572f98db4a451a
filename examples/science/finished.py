# SPDX-License-Identifier: Apache-2.0
"""The finished cells of a table: a file with a line of JSON for each, which one process at a time writes to."""
import contextlib
import fcntl
import json
import os
import sys
import threading

LINES = threading.Lock()  # of results, one at a time


def key_of(cell, seed):
    return json.dumps([cell, seed], sort_keys=True)


def parts(path):
    """(whole lines, what stands behind the last of them): bytes."""
    *lines, rest = path.read_bytes().split(b"\n") if path.exists() else [b""]
    return lines, rest


def is_whole(rest):
    """Whether a line without its end is all there: a part of an object is no JSON."""
    try:
        json.loads(rest)
    except (ValueError, RecursionError):
        return False
    return True


def what_is_wrong(line):
    """Of a line's JSON; None where it is what finish() writes."""
    if not isinstance(line, dict):
        return f"must be an object, found {type(line).__name__}"
    for name, kind, said in (("cell", dict, "the settings of a row"), ("seed", int, "a whole number"), ("figures", dict, "numbers by name")):
        if not isinstance(line.get(name), kind) or isinstance(line[name], bool):
            return f"must have \"{name}\", {said}, found {json.dumps(line[name]) if name in line else 'none'}"
    for name, value in line["figures"].items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return f"must have a number as the figure \"{name}\", found {json.dumps(value)}"
    if "device" in line and not isinstance(line.get("machine"), str):
        return "names a device, so it must have \"machine\", a text, too"
    return None


def parsed(text, where):
    try:
        line = json.loads(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise SystemExit(f"science: {where} must be UTF-8, found byte 0x{text[error.start]:02x} at place {error.start + 1}") from None
    except (ValueError, RecursionError) as error:
        raise SystemExit(f"science: {where} is no JSON: {error}") from None
    wrong = what_is_wrong(line)
    if wrong:
        raise SystemExit(f"science: {where} {wrong}")
    return line


def read(path):
    """The finished cells. A last line that was cut off while it was written is left out, and the file stays as it is."""
    texts, rest = parts(path)
    if rest and is_whole(rest):
        texts.append(rest)
    elif rest:
        print(f"science: {path} line {len(texts) + 1} was cut off while it was written, and is left out: {shown(rest)}", file=sys.stderr)
    lines, places = [], {}
    for number, text in enumerate(texts, 1):
        line = parsed(text, f"{path} line {number}")
        earlier = places.setdefault(key_of(line["cell"], line["seed"]), number)
        if earlier != number:
            raise SystemExit(f"science: {path} line {number} has the cell {json.dumps(line['cell'], ensure_ascii=False)} with seed {line['seed']}, which line "
                             f"{earlier} has, too: remove one of them")
        lines.append(line)
    return lines


def shown(rest):
    text = rest.decode("utf-8", errors="replace")
    return text if len(text) <= 200 else f"{text[:200]} and {len(text) - 200} letters more"


def mend(path):
    """Makes a last line whole, or takes it away where it was cut off, so that the next can be written. Call it while the file is locked."""
    texts, rest = parts(path)
    if not rest:
        return
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        if is_whole(rest):
            file.write(b"\n")
        else:
            print(f"science: {path} line {len(texts) + 1} was cut off while it was written, and is taken away: {shown(rest)}", file=sys.stderr)
            file.truncate(end - len(rest))


def append(path, line):
    with LINES, path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def locked(paths):
    """Nobody else holds one of the files: {path of the lock: what is said of it}."""
    with contextlib.ExitStack() as opened:
        for path, what in paths.items():
            lock = opened.enter_context(path.open("w"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise SystemExit(f"science: another process {what}: it holds {path}") from None
        yield
