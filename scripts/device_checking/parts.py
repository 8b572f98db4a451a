# SPDX-License-Identifier: Apache-2.0
"""A part is a process: it loads what it needs, says that it is ready, waits for its turn, and says lines of JSON until its time is up."""
import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def say(line):
    print(json.dumps(line), flush=True)


def turn():
    """Says that the part is ready and waits; returns when its time is up."""
    say({"ready": True})
    return time.monotonic() + float(sys.stdin.readline() or 0)


def load(options):
    if options.emulated:
        sys.path.insert(0, str(ROOT / "tests/python"))
        import cpu_torch  # noqa: F401: the PyTorch of .venv needs its help
    import torch

    from . import library

    device = torch.device("cpu" if options.emulated else "cuda")
    torch.backends.cuda.matmul.allow_tf32 = False
    if options.emulated:
        torch.set_num_threads(1)
    return torch, library.Library(pathlib.Path(options.kernels).resolve(), pathlib.Path(options.cases).resolve()), device


def exact(options):
    from . import exact as checks

    torch, library, device = load(options)
    deadline = turn()
    say(facts(torch, device))
    checks.run(torch, library, device, say, deadline, options.emulated)


def facts(torch, device):
    line = {"part": "facts", "torch": torch.__version__, "python": sys.version.split()[0]}
    if device.type == "cuda":
        of = torch.cuda.get_device_properties(0)
        line |= {"device": of.name, "capability": f"{of.major}.{of.minor}", "memory": of.total_memory, "multiprocessors": of.multi_processor_count}
    return line


def speed(options):
    from . import patterns, speed as times

    torch, library, device = load(options)
    deadline = turn()
    lengths, heads = ((256,), 1) if options.emulated else ((16384, 4096, 65536), times.HEADS)
    for length in lengths:
        for timed in patterns.TIMED:
            if time.monotonic() > deadline or (timed.is_dense and length > 16384):
                continue
            say({"part": "speed", **times.ours(torch, library, timed, length, device, heads)})
        for backend in () if options.emulated or length > 16384 else ("cudnn", "flash"):
            say({"part": "speed", **times.dense(torch, backend, length, device)})


def flex(options):
    from . import patterns, speed as times

    torch, library, device = load(options)
    timed, length, heads = (patterns.BY_NAME[options.pattern], *((256, 1) if options.emulated else (16384, times.HEADS)))
    compiled = times.Flex(torch, library, timed, options.block, length, device, heads)
    turn()
    difference = compiled.difference(library, timed)
    say({"part": "flex", **compiled.times(), "difference": difference, "wrong": None if difference < 1e-2 else "FlexAttention has other edges"})


def models(options):
    from . import models as of

    torch, _, device = load(options)
    turn()
    of.run(torch, device, say, options.emulated)


def small(options):
    """A few calls for compute-sanitizer, which makes each a hundred times slower."""
    from . import exact as checks

    torch, library, device = load(options)
    deadline = turn()
    for seed, call in enumerate((checks.Call("window(40)", length=130), checks.Call("window(16) | global(2)", "float32", length=70, has_padding=True))):
        if time.monotonic() < deadline:
            say({"part": "sanitizer", **checks.check(torch, library, call, device, seed)})


PARTS = {"exact": exact, "speed": speed, "flex": flex, "models": models, "sanitizer": small}
