# SPDX-License-Identifier: Apache-2.0
"""Runs `weft` and a peer program for the comparisons in this folder, and says on which machine."""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUN_PEER = pathlib.Path(__file__).resolve().parent / "run_peer.py"
PEER = "bytelm.py"


def default_peer():
    """The peer that WEFT_PEERS names: a script, or a folder with one called bytelm.py."""
    named = os.environ.get("WEFT_PEERS")
    if not named:
        return None
    path = pathlib.Path(named)
    return path / PEER if path.is_dir() else path


def parser(description):
    result = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--weft", default=os.environ.get("WEFT_BINARY", ROOT / "build/release/bin/weft"), help="the weft program")
    result.add_argument("--peer", default=default_peer(), type=pathlib.Path,
                        help="the peer's script (default: what WEFT_PEERS names, bytelm.py where that is a folder); none leaves it out")
    result.add_argument("--peer-python", default=os.environ.get("WEFT_PEER_PYTHON", sys.executable), help="a Python that has torch")
    result.add_argument("--peer-float32", action="store_true", help="run the peer with its autocast switched off")
    result.add_argument("--minutes", type=float, default=5.0, help="training time of each program")
    return result


def checked(options):
    """The options, once what they name is there: a comparison must not fail after its first half."""
    if not pathlib.Path(options.weft).is_file():
        raise SystemExit(f"there is no program {options.weft}: run make build, or give --weft")
    if options.peer and not options.peer.is_file():
        raise SystemExit(f"there is no peer {options.peer}: give --peer SCRIPT, or WEFT_PEERS")
    if options.peer and subprocess.run([options.peer_python, "-c", "import torch"], capture_output=True).returncode:
        raise SystemExit(f"{options.peer_python} has no torch: give --peer-python, or WEFT_PEER_PYTHON")
    return options


def check_built(program):
    """Ends the script where the benchmark program is not there, and warns where its library was built later: figures would be of two commits."""
    path = pathlib.Path(program)
    if not path.is_file():
        raise SystemExit(f"there is no program {path}: run `cmake --preset release -DWEFT_BENCH=ON`, then `cmake --build --preset release --target {path.name}`")
    library = path.resolve().parent.parent / "lib/libweft.so"
    if library.is_file() and library.stat().st_mtime > path.stat().st_mtime:
        print(f"warning: {library} was built after {path}, which opens it: run `cmake --build --preset release --target {path.name}`, "
              "or say that the program is older", file=sys.stderr)


def table_cell(expression):
    """An expression as a cell of a Markdown table, where | alone would begin the next cell."""
    return "`" + expression.replace("|", "\\|") + "`"


def joined(paths, destination):
    """The .md and .txt files below `paths`, sorted, as one file: what a program that takes a single file is given."""
    files = []
    for path in map(pathlib.Path, paths):
        files += [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in (".md", ".txt"))
    if not files:
        raise SystemExit(f"no text below {', '.join(map(str, paths))}")
    destination.write_bytes(b"".join(file.read_bytes() for file in files))
    return destination


@contextlib.contextmanager
def texts(chosen):
    """(folder, train, held out): the texts of --train and --held-out as one file each, in a folder that is there until the end."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        yield folder, joined(chosen.train, folder / "train.txt"), joined(chosen.held_out, folder / "held_out.txt")


def run(command):
    print("$", " ".join(map(str, command)), file=sys.stderr, flush=True)
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True).stdout


def json_of(text):
    """The lines of JSON in what a program printed, as one object."""
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return {name: value for line in lines for name, value in line.items()}


def weft(program, *arguments):
    """The JSON that a command prints."""
    return json_of(run([program, *arguments, "--json"]))


def trained(program, run, *flags):
    """What `weft train` prints; a run that is there already goes on, and one that is done only says so."""
    return weft(program, "train", *(["--resume"] if run.exists() else flags), "--out", run)


def rates(program, folder):
    """The machine's measured rates, kept in the folder: what predictions of time begin with."""
    path = folder / "machine.json"
    if not path.exists():
        weft(program, "bench", "calibrate", "--out", path)
    return path


def small_encoder(chosen, folder, family, tokenizer, positions):
    """A model directory with random weights of `chosen.layers`, `.width` and `.seed`, unless it is there already."""
    if not folder.exists():
        weft(chosen.weft, "init", "--family", family, "--tokenizer", tokenizer, "--num-hidden-layers", chosen.layers, "--hidden-size", chosen.width,
             "--num-attention-heads", 4, "--intermediate-size", 2 * chosen.width, "--max-position-embeddings", positions, "--seed", chosen.seed,
             "--out", folder)
    return folder


def peer(options, train, held_out, context):
    """What the peer printed, {"bits_per_byte", "bytes_seen", "minutes", ...}, and run_peer.py's "clock_seconds"."""
    command = [options.peer_python, RUN_PEER, *(["--float32"] if options.peer_float32 else []), options.peer]
    return json_of(run([*command, train, held_out, "--minutes", options.minutes, "--context", context]))


def machine():
    """One line for a table of results."""
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    load = os.getloadavg()[0]
    return f"{model or platform.processor()}, {os.cpu_count()} cores, load {load:.1f} at the start, {datetime.date.today()}"
