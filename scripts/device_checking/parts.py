# SPDX-License-Identifier: Apache-2.0
"""A part is a process: it loads what it needs, says that it is ready, waits for its turn, and says lines of JSON until its time is up."""
import dataclasses
import itertools
import json
import os
import pathlib
import sys
import time

from . import attempts

ROOT = pathlib.Path(__file__).resolve().parents[2]


def say(line):
    print(json.dumps(line), flush=True)


def turn():
    """Says that the part is ready and waits; returns when its time is up."""
    say({"ready": True})
    seconds = float(sys.stdin.readline() or 0)
    return time.monotonic() + seconds  # the clock begins with the turn, not with the waiting for it


def load(options):
    """(the libraries, the device). Modules that see PyTorch are imported after it."""
    if options.emulated:
        sys.path.insert(0, str(ROOT / "tests/python"))
        import cpu_torch  # noqa: F401: the PyTorch of .venv needs its help
    import torch

    from . import library

    torch.backends.cuda.matmul.allow_tf32 = False
    if options.emulated:
        torch.set_num_threads(1)
    opened = library.Library(pathlib.Path(options.kernels).resolve(), pathlib.Path(options.cases).resolve())
    return opened, torch.device("cpu" if options.emulated else "cuda")


def exact(options):
    """A kernel that fails takes the process's GPU with it: the process begins again behind the call that failed, in the same turn."""
    library, device = load(options)
    from . import calls
    from . import exact as checks

    counts = calls.Counts(library, options.emulated, options.after)
    if options.deadline:
        deadline = options.deadline
    else:
        counts.wait()
        deadline = turn()
        say(facts(device))
        say({"part": "several GPUs", "verdict": f"not run: {of_several(device)}"})
    failed = checks.run(counts, device, say, deadline, options.emulated, options.after)
    counts.close()
    if failed is not None and time.monotonic() < deadline:
        words = [word for word in sys.argv if not word.startswith(("--after", "--deadline"))]
        os.execv(sys.executable, [sys.executable, *words, f"--after={failed + 1}", f"--deadline={deadline}"])


def facts(device):
    import torch

    line = {"part": "facts", "torch": torch.__version__, "python": sys.version.split()[0]}
    if device.type == "cuda":
        of = torch.cuda.get_device_properties(0)
        line |= {"device": of.name, "capability": f"{of.major}.{of.minor}", "memory": of.total_memory, "multiprocessors": of.multi_processor_count}
    return line


def of_several(device):
    import torch

    count = torch.cuda.device_count() if device.type == "cuda" else 0
    return {0: "the emulation is none", 1: "there is one"}.get(count, f"there are {count}, and nothing here uses more than one")


def setting_of(options, length=16384):
    library, device = load(options)
    from . import speed as times

    return times.Setting(library, device, 1, 256) if options.emulated else times.Setting(library, device, 12, length)


def speed(options):
    from . import patterns

    setting = setting_of(options)
    from . import speed as times

    deadline = turn()
    sizes = decoded_sizes(options, setting)
    rivals(options, setting, sizes, deadline)
    for length in (setting.length,) if options.emulated else (16384, 4096, 65536):
        at = dataclasses.replace(setting, length=length)
        for timed in patterns.TIMED:
            if time.monotonic() < deadline and not (timed.is_dense and length > 16384):
                attempts.attempt(say, {"part": "speed"}, lambda at=at, timed=timed: times.ours(at, timed))
        for keys, texts, name in sizes if length == setting.length else ():
            if time.monotonic() < deadline:
                line = {"part": "decode", "who": "weft", "pattern": name, "texts": texts, "keys": keys}
                attempts.attempt(say, line, lambda of=(texts, keys, name): times.decoding(setting, *of))


def rivals(options, setting, sizes, deadline):
    """All times of rivals, before a kernel of ours runs: one that fails would take the process's GPU from them, too."""
    from . import speed as times

    for length in () if options.emulated else (16384, 4096):
        at = dataclasses.replace(setting, length=length)
        for backend in times.BACKENDS:
            if time.monotonic() < deadline:
                found, why = attempts.of_rival(lambda at=at, backend=backend: times.dense(at, backend))
                say({"part": "speed", **(found or {"rival": backend, "length": length, "verdict": why})})
    for keys, texts in dict.fromkeys(size[:2] for size in sizes):
        if time.monotonic() < deadline:
            found, why = attempts.of_rival(lambda of=(texts, keys): times.decoding_by_flash(setting, *of))
            say({"part": "decode", "who": "flash", "pattern": "full", "texts": texts, "keys": keys, **(found or {"verdict": why})})


def decoded_sizes(options, setting):
    """(keys, texts, name of a pattern) of one query a text."""
    from . import patterns

    if options.emulated:
        return [(setting.length, 1, name) for name in patterns.DECODED]
    return list(itertools.product(patterns.DECODED_KEYS, patterns.DECODED_TEXTS, patterns.DECODED))


def flex(options):
    from . import patterns

    setting = setting_of(options)
    from . import flex as rival

    compiled = rival.Flex(setting, patterns.BY_NAME[options.pattern], options.block)
    turn()
    difference = compiled.difference()
    say({"part": "flex", **compiled.times(), "difference": difference, "wrong": None if difference < 1e-2 else "FlexAttention has other edges"})


def warm():
    """Loads what transformers has of whole models, where it is there, while other parts have their turn; else the part says so."""

    def load_classes():
        import transformers

        return transformers.BigBirdForMaskedLM, transformers.LongformerForMaskedLM, transformers.GPT2LMHeadModel

    attempts.of_rival(load_classes)


def models(options):
    _, device = load(options)
    from . import models as of
    from . import trained

    warm()
    right = trained.beforehand(options.emulated)
    turn()
    trained.run(device, say, options.emulated, right)
    of.run(device, say, options.emulated)


def steps(options):
    _, device = load(options)
    from . import steps as of

    warm()
    turn()
    of.run(device, say, options.emulated)


def small(options):
    """A few calls for compute-sanitizer, which makes each a hundred times slower."""
    library, device = load(options)
    from . import calls
    from . import exact as checks

    deadline = turn()
    for seed, call in enumerate(calls.SANITIZED):
        if time.monotonic() < deadline:
            say({"part": "sanitizer", **checks.check(library, call, device, seed)})


def races(options):
    """The kernels of one call, whose results others compare: racecheck would also look at what PyTorch runs on the device, so that nothing of it does."""
    library, device = load(options)
    from . import calls, exact
    from . import library as kernels

    inputs = exact.inputs_of(calls.RACED, device, 1)
    case = kernels.Case(library, calls.RACED.expression, inputs, calls.RACED.dropout)
    turn()
    case.forward()
    case.backward()
    if device.type == "cuda":
        import torch

        torch.cuda.synchronize()
    say({"part": "races", "call": str(calls.RACED), "wrong": None})


PARTS = {"exact": exact, "speed": speed, "flex": flex, "models": models, "steps": steps, "sanitizer": small, "races": races}
