#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs that are killed at random moments and resumed each time, against one that nobody disturbed.

    bench/resume/kills.py [--kills 50]                # one process, kill -9
    bench/resume/kills.py --processes 2 --kills 20    # one of two processes at a time; the other must end by itself and say why

Prints one line of JSON for each kill, then one with the verdict: whether all losses are those of the undisturbed run, to the bit. The exit code is
1 where they are not.
"""
import argparse
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import programs  # noqa: E402

WORDS = ["attention", "graph", "query", "key", "value", "token"]


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=programs.ROOT / "build/release/bin/weft", help="the weft program")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--shortest", type=float, default=0.1, help="seconds until a kill, at least; one of two processes that dies before they "
                        "have met is waited for, as one that is late")
    parser.add_argument("--longest", type=float, default=3.0, help="seconds until a kill, at most")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    return parser.parse_args()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def start(chosen, arguments):
    """The processes of a run, which find each other as torchrun's would."""
    group = {"WORLD_SIZE": str(chosen.processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "GLOO_SOCKET_IFNAME": "lo"}
    result = []
    for rank in range(chosen.processes):
        environment = os.environ | (group | {"RANK": str(rank)} if chosen.processes > 1 else {})
        result.append(subprocess.Popen(list(map(str, [chosen.weft, "train", *arguments])), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True, env=environment))
    return result


def finished(processes):
    """The exit codes; what was said last where one is not 0."""
    said = [process.communicate()[1].strip().splitlines()[-2:] for process in processes]
    codes = [process.returncode for process in processes]
    return codes, said


def losses(run):
    entries = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [(entry["step"], entry["loss"]) for entry in entries if "loss" in entry]


def disturb(chosen, fresh, run, draw):
    """Begins or resumes the run, kills one process, and waits for the others. None when the run was done before."""
    processes = start(chosen, ["--resume", "--out", run] if (run / "training.json").exists() else [*fresh, "--out", run])
    time.sleep(draw.uniform(chosen.shortest, chosen.longest))
    victim = draw.randrange(chosen.processes)
    if processes[victim].poll() is not None:
        finished(processes)
        return None
    begun = time.monotonic()
    processes[victim].kill()
    codes, said = finished(processes)
    return {"killed": victim, "codes": codes, "seconds_to_end": round(time.monotonic() - begun, 2),
            "said": [line for rank, lines in enumerate(said) if rank != victim for line in lines if "error" in line]}


def main():
    chosen = options()
    draw = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "text.txt").write_text(" ".join(draw.choice(WORDS) for _ in range(20000)))
        fresh = ["--train-text", folder / "text.txt", "--context", 64, "--batch-size", 2, "--layers", 2, "--width", 32, "--heads", 2,
                 "--dtype", "float32", "--threads", 1, "--attention", "window(left=16)", "--steps", chosen.steps, "--checkpoint-every", 10]
        whole, run = folder / "whole", folder / "run"
        finished(start(chosen, [*fresh, "--out", whole]))
        kills = 0
        while kills < chosen.kills:
            kill = disturb(chosen, fresh, run, draw)
            if kill is None:
                break
            kills += 1
            print(json.dumps({"kill": kills} | kill), flush=True)
        codes, said = finished(start(chosen, ["--resume", "--out", run]))
        equal = codes == [0] * chosen.processes and losses(run) == losses(whole)
        print(json.dumps({"kills": kills, "equal": equal, "steps": len(losses(run)), "codes": codes, "said": [] if equal else said}))
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
