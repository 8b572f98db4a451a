#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of docs/results.md that take many sittings: one command a table, goes on where it was stopped.

    examples/science/science.py                      names the tables
    examples/science/science.py TABLE                computes what is missing, then prints the table
    examples/science/science.py TABLE --minutes 30   begins no cell after half an hour
    examples/science/science.py TABLE --show         prints what is there
    examples/science/science.py TABLE:0 OTHER TABLE --jobs 12 --device cuda --cell-seconds 120 --seconds 280
                                                     computes seed 0 of a table, another table, and the rest of the first, side by side on a GPU

A table is a module in examples/science/tables. It has
    CLAIM      the sentence that the table is to prove or to refute
    FIGURE     the figure by which its rows are compared, and BETTER, "larger" or "smaller"
    NEEDS      paths below the folder that WEFT_DATA names
    cells()    the rows: a dict of settings each, of text and numbers
    run(cell, seed, world)   the figures of a row with one seed, a dict of numbers; world.py says what it may use
and, where it wants others, SEEDS (how many, 3), fixed(cell), whether a row is the same with every seed and is computed once, GROUP, a
setting within whose values alone rows are compared, and APART = True, whose cells are computed in a process of their own, by a Python with PyTorch:
this one, or that of .venv.

Every finished cell is one line of examples/science/results/TABLE.jsonl, with its seed, commit, machine, device, number format and seconds; commit the
file. TABLE.lock beside it keeps other processes away while a table is computed. With --jobs a cell that fails or takes too long is named, and the
others go on.
"""
import argparse
import collections
import datetime
import importlib
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "bench")]

import finished  # noqa: E402
import programs  # noqa: E402
import summary  # noqa: E402
from world import Program, Shared, Slots, World, torch_python  # noqa: E402


Cell = collections.namedtuple("Cell", "name table path settings seed")  # path: of the table's results


def table_names():
    return sorted(path.stem for path in (HERE / "tables").glob("*.py"))


def load_table(name):
    if name not in table_names():
        raise SystemExit(f"science: there is no table {name!r}; there are {', '.join(table_names())}")
    return importlib.import_module(f"tables.{name}")


def seeds_of(table, cell):
    fixed = getattr(table, "fixed", lambda cell: False)
    return [0] if fixed(cell) else list(range(getattr(table, "SEEDS", 3)))


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


def cells_of(name, table, path, seed=None):
    """The cells that are not finished: all with the first seed, then all with the next, so that a stopped table has whole columns."""
    done = {finished.key_of(line["cell"], line["seed"]) for line in finished.read(path)}
    seeds = range(getattr(table, "SEEDS", 3)) if seed is None else [seed]
    return [Cell(name, table, path, cell, each) for each in seeds for cell in table.cells()
            if each in seeds_of(table, cell) and finished.key_of(cell, each) not in done]


def figures_of(cell, world):
    if not getattr(cell.table, "APART", False) or world is None:
        return cell.table.run(cell.settings, cell.seed, world)
    asked = json.dumps({"settings": cell.settings, "seed": cell.seed})
    return json.loads(world.apart(torch_python(), __file__, cell.name, "--one", asked, "--weft", world.weft_program, "--data", world.data or ".",
                                  "--out", world.folder.parent, "--threads", world.threads, "--device", world.device))


def world_of(cell, worlds, rank=0, seconds=None, until=None):
    world = worlds[cell.name]
    name = "-".join("".join(letter if letter.isalnum() else "_" for letter in str(word)) for word in (*cell.settings.values(), cell.seed))
    return None if world is None else world.of_cell(rank, name, seconds, until)


def finish(cell, world, made_by):
    """Computes a cell and writes its line."""
    start = time.monotonic()
    figures = figures_of(cell, world)
    if cell.table.FIGURE not in figures:
        raise SystemExit(f"science: {cell.table.__name__} gave no {cell.table.FIGURE} for {cell.settings}, found {sorted(figures)}")
    where = {} if world is None else world.where()
    finished.append(cell.path, {"cell": cell.settings, "seed": cell.seed, "figures": figures, "seconds": round(time.monotonic() - start, 1), **made_by, **where,
                                "date": datetime.date.today().isoformat()})


def compute(cells, worlds, minutes, made_by):
    """One after the other. Whether all are done."""
    begin = time.monotonic()
    for number, cell in enumerate(cells, 1):
        if minutes is not None and time.monotonic() - begin > 60 * minutes:
            print(f"science: {len(cells) - number + 1} cells are left; call the command again", file=sys.stderr)
            return False
        print(f"science: cell {number} of {len(cells)} that are missing: {cell.settings}, seed {cell.seed}", file=sys.stderr, flush=True)
        try:
            finish(cell, world_of(cell, worlds), made_by)
        except subprocess.CalledProcessError as error:  # it has said why
            raise SystemExit(f"science: {cell.settings}, seed {cell.seed}: {' '.join(map(str, error.cmd[:2]))} ended with status {error.returncode}") from None
    return True


def compute_together(cells, worlds, chosen, made_by):
    """Many at once, each in a thread that waits for programs; those that come first have them first. Whether all are done."""
    until = None if chosen.seconds is None else time.monotonic() + chosen.seconds
    begin, left, under_way = time.monotonic(), [], threading.Semaphore(3 * chosen.jobs)

    def one(rank, cell):
        said = "is done"
        try:
            finish(cell, world_of(cell, worlds, rank, chosen.cell_seconds, until), made_by)
        except (Exception, SystemExit) as error:  # whatever it is, the other cells go on
            said = f"is not done: {type(error).__name__}: {error}"
            left.append(cell)
        under_way.release()
        print(f"science: {time.monotonic() - begin:.0f} s: {cell.name} {cell.settings}, seed {cell.seed}, {said}", file=sys.stderr, flush=True)

    threads = [threading.Thread(target=one, args=ranked) for ranked in enumerate(cells)]
    for thread in threads:
        under_way.acquire()
        thread.start()
    for thread in threads:
        thread.join()
    print(f"science: {len(cells) - len(left)} of {len(cells)} cells are done", file=sys.stderr)
    return not left


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="*", help="which table, TABLE:N for its seed N; without one the names")
    parser.add_argument("--show", action="store_true", help="print what is there and compute nothing")
    parser.add_argument("--minutes", type=float, help="begin no cell after so many minutes")
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", programs.ROOT / "build/release/bin/weft"), help="the weft program")
    parser.add_argument("--data", type=pathlib.Path, default=os.environ.get("WEFT_DATA"), help="folder of the data (default: WEFT_DATA)")
    parser.add_argument("--out", type=pathlib.Path, default=programs.ROOT / "build/science", help="folder for runs and models")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results", help="folder of the finished cells")
    parser.add_argument("--threads", type=int, default=2, help="of each program")
    parser.add_argument("--device", default="cpu", help="where models compute: cpu, cuda or cuda:N")
    parser.add_argument("--jobs", type=int, default=1, help="programs that run at once; with more than one, cells are computed side by side")
    parser.add_argument("--cell-seconds", type=float, help="with --jobs: end a cell whose programs take longer together")
    parser.add_argument("--seconds", type=float, help="with --jobs: end all after so long")
    parser.add_argument("--commit", help="what results name as the commit (default: git's)")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return checked(parser, parser.parse_args())


def checked(parser, chosen):
    for flag in ("jobs", "threads"):
        if getattr(chosen, flag) < 1:
            parser.error(f"--{flag} must be 1 or more, found {getattr(chosen, flag)}")
    if chosen.jobs > 1 and chosen.minutes is not None:
        parser.error(f"--minutes is for cells one after the other, and --jobs is {chosen.jobs}: give --seconds, which ends all after so long")
    if chosen.jobs == 1 and (chosen.seconds is not None or chosen.cell_seconds is not None):
        parser.error("--seconds and --cell-seconds are for cells side by side: give --jobs 2 or more, or --minutes")
    for flag in ("minutes", "seconds", "cell_seconds"):
        if getattr(chosen, flag) is not None and not getattr(chosen, flag) > 0:  # NaN neither
            parser.error(f"--{flag.replace('_', '-')} must be above 0, found {getattr(chosen, flag)}")
    if not re.fullmatch("cpu|cuda(:[0-9]+)?", chosen.device):
        parser.error(f"--device must be cpu, cuda or cuda:N, found {chosen.device!r}")
    for flag in ("results", "out"):
        if getattr(chosen, flag).exists() and not getattr(chosen, flag).is_dir():
            parser.error(f"--{flag} must be a folder, found the file {getattr(chosen, flag)}")
    return chosen


def asked_tables(words):
    """[(name, seed or None)] of TABLE and TABLE:SEED."""
    asked = []
    for word in words:
        name, colon, seed = word.partition(":")
        table = load_table(name)
        if colon and not (re.fullmatch("[0-9]+", seed) and int(seed) < getattr(table, "SEEDS", 3)):
            raise SystemExit(f"science: {word}: the seed of {name} must be a number below {getattr(table, 'SEEDS', 3)}, found {seed!r}")
        asked.append((name, int(seed) if seed else None))
    return asked


def checked_program(path):
    """The program, which says that it is weft."""
    if not pathlib.Path(path).is_file():
        raise SystemExit(f"science: there is no program {path}: run make build, or give --weft")
    program = pathlib.Path(path).absolute()
    try:
        found = subprocess.run([program, "--version"], capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise SystemExit(f"science: {path} cannot be run: {error.strerror}") from None
    said = (found.stdout.splitlines() or [""])[0]
    if found.returncode != 0 or not said.startswith("weft "):
        last = (found.stderr.splitlines() or [""])[-1]
        raise SystemExit(f"science: {path} must be the weft program, whose --version begins with \"weft \", found {said or last!r}, exit code {found.returncode}")
    return program


def checked_world(table, chosen, shared=None):
    """Errors: what is missing, before the first cell begins."""
    program = checked_program(chosen.weft)
    for needed in table.NEEDS:
        if chosen.data is None or not (chosen.data / needed).exists():
            raise SystemExit(f"science: {table.__name__} needs {needed} below the folder that WEFT_DATA or --data names, found none")
    name = table.__name__.rsplit(".", 1)[-1]
    return World(Program(program, chosen.threads, chosen.device), chosen.data, chosen.out / name, shared)


def locks_of(worlds, paths):
    """Of each table its results and its folder of runs."""
    return {lock: f"computes {name}" for name, world in worlds.items() for lock in (paths[name].with_suffix(".lock"), world.folder / "lock")}


def compute_asked(asked, paths, chosen):
    """Whether all cells of the tables are done."""
    slots = Slots(chosen.jobs)
    worlds = {name: checked_world(load_table(name), chosen, Shared(slots)) for name, _ in asked}
    made_by = {"commit": chosen.commit or commit(), "machine": machine()}
    chosen.results.mkdir(parents=True, exist_ok=True)
    with finished.locked(locks_of(worlds, paths)):
        for path in paths.values():
            finished.mend(path)
        missing = [cell for name, seed in asked for cell in cells_of(name, load_table(name), paths[name], seed)]
        cells = list({(cell.name, finished.key_of(cell.settings, cell.seed)): cell for cell in missing}.values())
        if chosen.jobs == 1:
            return compute(cells, worlds, chosen.minutes, made_by)
        return compute_together(cells, worlds, chosen, made_by)


def main():
    chosen = options()
    if not chosen.table:
        for name in table_names():
            print(f"{name:24} {load_table(name).CLAIM}")
        return 0
    asked = asked_tables(chosen.table)
    if chosen.one:
        cell = json.loads(chosen.one)
        table = load_table(asked[0][0])
        print(json.dumps(table.run(cell["settings"], cell["seed"], checked_world(table, chosen))))
        return 0
    paths = {name: chosen.results / f"{name}.jsonl" for name, _ in asked}
    whole = chosen.show or compute_asked(asked, paths, chosen)
    print("\n\n".join(summary.markdown(load_table(name), finished.read(path)) for name, path in paths.items()))
    return 0 if whole else 3


if __name__ == "__main__":
    sys.exit(main())
