#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of docs/results.md that take many sittings: one command a table, goes on where it was stopped.

    examples/science/science.py                      names the tables
    examples/science/science.py TABLE                computes what is missing, then prints the table
    examples/science/science.py TABLE --minutes 30   begins no cell after half an hour
    examples/science/science.py TABLE --show         prints what is there

A table is a module in examples/science/tables. It has
    CLAIM      the sentence that the table is to prove or to refute
    FIGURE     the figure by which its rows are compared, and BETTER, "larger" or "smaller"
    NEEDS      paths below the folder that WEFT_DATA names
    cells()    the rows: a dict of settings each, of text and numbers
    run(cell, seed, world)   the figures of a row with one seed, a dict of numbers
and, where it wants others, SEEDS (how many, 3), fixed(cell), whether a row is the same with every seed and is computed once, and GROUP, a
setting within whose values alone rows are compared.

Every finished cell is one line of examples/science/results/TABLE.jsonl, with its seed, commit, machine and seconds; commit the file.
"""
import argparse
import datetime
import fcntl
import importlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "bench")]

import programs  # noqa: E402
import summary  # noqa: E402


class World:
    """What a cell may use: the program, the data, a folder for what it makes, and how many threads."""

    def __init__(self, weft, data, folder, threads):
        self.weft_program, self.data, self.folder, self.threads = weft, data, folder, threads
        folder.mkdir(parents=True, exist_ok=True)
        os.environ.setdefault("OMP_NUM_THREADS", str(threads))

    def weft(self, *arguments):
        """The JSON that a command prints."""
        return programs.weft(self.weft_program, *arguments)

    def run(self, *arguments):
        """What a command prints."""
        return programs.run([self.weft_program, *arguments])

    def trained(self, run, *flags):
        """What `weft train` prints; a run that was stopped goes on."""
        return programs.trained(self.weft_program, run, *flags)


def table_names():
    return sorted(path.stem for path in (HERE / "tables").glob("*.py"))


def load_table(name):
    if name not in table_names():
        raise SystemExit(f"science: there is no table {name!r}; there are {', '.join(table_names())}")
    return importlib.import_module(f"tables.{name}")


def seeds_of(table, cell):
    fixed = getattr(table, "fixed", lambda cell: False)
    return [0] if fixed(cell) else list(range(getattr(table, "SEEDS", 3)))


def key_of(cell, seed):
    return json.dumps([cell, seed], sort_keys=True)


def read_results(path):
    """The finished cells. A last line that was cut off while it was written is taken away."""
    if not path.exists():
        return []
    text = path.read_bytes()
    if not text.endswith(b"\n"):
        text = text[:text.rfind(b"\n") + 1]
        path.write_bytes(text)
    lines = []
    for number, line in enumerate(text.decode().splitlines(), 1):
        try:
            lines.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise SystemExit(f"science: {path} line {number} is no JSON: {error}") from None
    return lines


def commit():
    """The commit of the tree, with "+" where files are changed; "unknown" without git."""
    def git(*arguments):
        return subprocess.run(["git", "-C", str(HERE), *arguments], capture_output=True, text=True, check=False)
    head = git("rev-parse", "--short=12", "HEAD")
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/", f":!{HERE / 'results'}")
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "") if head.returncode == 0 else "unknown"


def machine():
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    return f"{model or platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def append(path, line):
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())


def compute(table, path, world, minutes):
    """All cells with the first seed, then all with the next, so that a stopped table has whole columns. Whether all are done."""
    done = {key_of(line["cell"], line["seed"]) for line in read_results(path)}
    cells = list(table.cells())
    wanted = [(cell, seed) for seed in range(getattr(table, "SEEDS", 3)) for cell in cells if seed in seeds_of(table, cell)]
    missing = [(cell, seed) for cell, seed in wanted if key_of(cell, seed) not in done]
    begin = time.monotonic()
    for number, (cell, seed) in enumerate(missing, 1):
        if minutes is not None and time.monotonic() - begin > 60 * minutes:
            print(f"science: {len(missing) - number + 1} of {len(wanted)} cells are left; call the command again", file=sys.stderr)
            return False
        print(f"science: cell {number} of {len(missing)} that are missing: {cell}, seed {seed}", file=sys.stderr, flush=True)
        start = time.monotonic()
        figures = table.run(cell, seed, world)
        if table.FIGURE not in figures:
            raise SystemExit(f"science: {table.__name__} gave no {table.FIGURE} for {cell}, found {sorted(figures)}")
        append(path, {"cell": cell, "seed": seed, "figures": figures, "seconds": round(time.monotonic() - start, 1), "commit": commit(),
                      "machine": machine(), "date": datetime.date.today().isoformat()})
    return True


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="?", help="which table; without it the names")
    parser.add_argument("--show", action="store_true", help="print what is there and compute nothing")
    parser.add_argument("--minutes", type=float, help="begin no cell after so many minutes")
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", programs.ROOT / "build/release/bin/weft"), help="the weft program")
    parser.add_argument("--data", type=pathlib.Path, default=os.environ.get("WEFT_DATA"), help="folder of the data (default: WEFT_DATA)")
    parser.add_argument("--out", type=pathlib.Path, default=programs.ROOT / "build/science", help="folder for runs and models")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results", help="folder of the finished cells")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def checked_world(table, chosen):
    """Errors: what is missing, before the first cell begins."""
    if not pathlib.Path(chosen.weft).is_file():
        raise SystemExit(f"science: there is no program {chosen.weft}: run make build, or give --weft")
    for needed in table.NEEDS:
        if chosen.data is None or not (chosen.data / needed).exists():
            raise SystemExit(f"science: {table.__name__} needs {needed} below the folder that WEFT_DATA or --data names, found none")
    return World(chosen.weft, chosen.data, chosen.out / table.__name__.rsplit(".", 1)[-1], chosen.threads)


def main():
    chosen = options()
    if chosen.table is None:
        for name in table_names():
            print(f"{name:24} {load_table(name).CLAIM}")
        return 0
    table = load_table(chosen.table)
    chosen.results.mkdir(parents=True, exist_ok=True)
    path = chosen.results / f"{chosen.table}.jsonl"
    whole = True
    if not chosen.show:
        world = checked_world(table, chosen)
        with (world.folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise SystemExit(f"science: another process computes {chosen.table}") from None
            whole = compute(table, path, world, chosen.minutes)
    print(summary.markdown(table, read_results(path)))
    return 0 if whole else 3


if __name__ == "__main__":
    sys.exit(main())
