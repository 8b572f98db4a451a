#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damages model directories, tokenisers, run directories and data files, and runs the commands that read them.

Each damaged copy must give exit 0 (the damage is harmless), or exit 1 or 2 with one error line that names a file or
folder of the copy: no signal, at most 10 s of processor, at most 2 GB of memory. A failure prints its number, so that
`--only N` with the same seed makes it again and keeps the copy. tests/fuzz/program_server.cpp runs the commands.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from mutations import mutate  # noqa: E402
from seed_directories import SEEDS  # noqa: E402
from seed_pairs import PAIR_SEEDS  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
LONGEST_SECONDS, LARGEST_BYTES = 10, 2 << 30


class Server:
    """The command line as a process that runs one argument list after another."""

    def __init__(self, program):
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        # Names and tests are bounded to this machine: no calibration, cache or colour of the user's.
        environment = {**kept, "HOME": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen([program, "20"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def run(self, arguments, directory):
        request = {"arguments": [str(argument) for argument in arguments], "directory": str(directory)}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"mutants: the server ended while it ran {arguments}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def offence(result, copy, changed):
    """What is wrong with a run over the damaged `copy`, or None."""
    if result["signal"]:
        return f"signal {result['signal']}"
    if result["seconds"] > LONGEST_SECONDS:
        return f"{result['seconds']:.1f} s of processor"
    if result["peak_bytes"] > LARGEST_BYTES:
        return f"{result['peak_bytes'] / 2**30:.1f} GiB"
    if result["exit"] not in (0, 1, 2):
        return f"exit {result['exit']}"
    return None if result["exit"] == 0 else message_offence(result["stderr"], [copy.name, *changed])


def message_offence(text, names):
    """What is wrong with the error lines of a run that was refused, or None."""
    lines = text.splitlines()
    errors = [line for line in lines if line.startswith("weft: error: ")]
    if len(errors) != 1:
        return f"{len(errors)} error lines"
    if any(ord(letter) < 32 and letter not in "\n\t" for letter in text):
        return "control characters on standard error"
    # A pattern shows the place of its error below the line.
    if not all(line.startswith(("hint: ", "  ")) for line in lines[lines.index(errors[0]) + 1:]):
        return "lines behind the error"
    if not any(name in errors[0] for name in names):
        return "the error names no file"
    return None


class Campaign:
    def __init__(self, folder, seed, beginnings):
        self.folder, self.seed = folder, seed
        self.seeds = {name: made for name, made in {**SEEDS, **PAIR_SEEDS}.items() if name.startswith(tuple(beginnings))}
        if not self.seeds:
            raise SystemExit(f"mutants: --names must begin one of {', '.join({**SEEDS, **PAIR_SEEDS})}")

    def make_seeds(self, server):
        """Runs the commands that make undamaged directories; each reading command must pass on them."""
        for index, (name, seed) in enumerate(self.seeds.items()):
            directory = self.folder / "seeds" / name
            directory.mkdir(parents=True)
            seed.make(directory, lambda arguments: self.must_pass(server, directory, arguments))
            for arguments in seed.commands(directory, self.folder / f"out-{index}-{name}"):
                self.must_pass(server, directory, arguments)
                for written in self.folder.glob(f"out-{index}-{name}*"):
                    shutil.rmtree(written) if written.is_dir() else written.unlink()

    @staticmethod
    def must_pass(server, directory, arguments):
        result = server.run(arguments, directory)
        if result["exit"] != 0:
            raise SystemExit(f"mutants: {directory.name}: {' '.join(map(str, arguments))} fails undamaged: {result}")

    def one(self, server, number, keep=False):
        """Damages a copy and runs a command over it: (what ran, the result, the offence or None)."""
        draw = random.Random(f"{self.seed}/{number}")
        name = draw.choice(list(self.seeds))
        work = self.folder / f"mutant-{number}"
        copy = work / f"copy-{number}"
        shutil.copytree(self.folder / "seeds" / name, copy)
        changed = mutate(copy, draw)
        arguments = draw.choice(self.seeds[name].commands(copy, work / "out"))
        for argument in arguments:
            if isinstance(argument, pathlib.Path) and argument.is_fifo():  # whose writer a program waits for that is given its name
                argument.unlink()
                argument.write_bytes(b"")
        result = server.run(arguments, copy)
        found = offence(result, copy, changed)
        if not keep:
            shutil.rmtree(work, ignore_errors=True)
        return f"{name}: weft {' '.join(map(str, arguments))} (changed {', '.join(changed)})", result, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=str(ROOT / "build/release/bin/fuzz_program_server"), help="the program that runs commands")
    parser.add_argument("--count", type=int, default=10_000, help="how many damaged copies (default: 10,000)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9), help="what the draws begin with")
    parser.add_argument("--only", type=int, help="this copy alone, which is kept")
    parser.add_argument("--names", nargs="+", default=[""], help="only directories whose names begin so (default: all)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at once (default: one a core)")
    options = parser.parse_args()
    print(f"mutants: seed {options.seed}", flush=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weft-mutants-"))
    campaign = Campaign(folder, options.seed, options.names)
    servers = [Server(options.server) for _ in range(1 if options.only is not None else options.jobs)]
    campaign.make_seeds(servers[0])
    if options.only is not None:
        print(*campaign.one(servers[0], options.only, keep=True), f"kept in {folder}", sep="\n")
        return 0
    failed = run_all(campaign, servers, options.count)
    for server in servers:
        server.close()
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


def run_all(campaign, servers, count):
    """Spreads the copies over the servers and prints the offences; how many there were."""
    offences, refused, slowest, largest = 0, 0, 0.0, 0

    def lane(index):
        results = []
        for number in range(index, count, len(servers)):
            ran, result, found = campaign.one(servers[index], number)
            if found:
                print(f"mutants: {number}: {found}: {ran}\n  {result['stderr'].strip()[:400]!r}", flush=True)
            results.append((result, found))
        return results

    with concurrent.futures.ThreadPoolExecutor(len(servers)) as pool:
        for results in pool.map(lane, range(len(servers))):
            for result, found in results:
                refused += result["exit"] != 0
                slowest, largest = max(slowest, result["seconds"]), max(largest, result["peak_bytes"])
                offences += found is not None
    print(f"mutants: {count} damaged copies, {refused} refused, slowest {slowest:.1f} s, largest {largest / 2**20:.0f} MiB, {offences} offences")
    return offences


if __name__ == "__main__":
    sys.exit(main())
