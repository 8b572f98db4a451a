# SPDX-License-Identifier: Apache-2.0
"""A Longformer of base size reads 8,192 and 32,768 tokens: time, memory, and the largest difference of a hidden state from the reference.

All programs read the same directory with random weights and the same ids, without global tokens. The reference is transformers in float32. A program
whose hidden states are farther from it than its type of number explains is not timed.
"""
import pathlib
import subprocess

PEER = pathlib.Path(__file__).resolve().parent / "long_text_peer.py"
LENGTHS = (8192, 32768)
# name: flags of `weft`, the largest difference that counts as right, and about how long the longest text takes once. Hidden states leave a LayerNorm, so that most lie between -4 and 4: float32
# differs in its order of sums, bfloat16 by 8 bits of each factor through 12 layers, int8 by 7 (what is beside it is bfloat16).
WEFT = {
    "float32": (["--dtype", "float32"], 1e-3, 35),
    "bfloat16": (["--dtype", "bfloat16"], 0.5, 20),
    "int8": (["--weights", "int8"], 1.0, 25),
}
# name: library, its type, the limit and the time as above. sentence-transformers comes last, because it computes what the reference does.
PEERS = {
    "transformers float32": ("transformers", "float32", 0.0, 80),
    "transformers bfloat16": ("transformers", "bfloat16", 0.5, 60),
    "ONNX Runtime float32": ("onnxruntime", "float32", 1e-3, 80),
    "sentence-transformers float32": ("sentence-transformers", "float32", 1e-3, 80),
}
REFERENCE = "transformers float32"
FIELDS = {"seconds": ("time", "s"), "peak_gb": ("memory", "GB"), "difference": ("largest difference", "")}
NO_ROOM = "no room in memory"  # what long_text_peer.py says of a library that needs more than is free
PROGRAMS = [f"Weft {name}" for name in WEFT] + list(PEERS)


def figure_name(program, length, field):
    return f"{length:,} tokens, {program}: {FIELDS[field][0]}"


def rows():
    """(program, length), in the order in which they are measured: the reference first, because whatever differs from it is not timed; then peer by peer."""
    peers = [name for name in PEERS if name != REFERENCE]
    ours = [REFERENCE, *(name for name in PROGRAMS if name not in PEERS)]
    return [(program, length) for length in LENGTHS for program in ours] + [(program, length) for program in peers for length in LENGTHS]


def expected_seconds(times, seconds, length):
    """Of a command that starts and computes a text so many times, where one of the longest takes `seconds`."""
    return 5 + times * seconds * length / LENGTHS[-1]


def directory(context):
    """A Longformer for the longest text."""
    made = context.folder / "long-text"
    if not made.exists():
        run = [context.weft, "init", "--family", "longformer", "--head", "none", "--max-position-embeddings", LENGTHS[-1] + 2, "--vocab-size", 50265, "--pad-token-id", 1, "--out", made]
        subprocess.run(list(map(str, run)), check=True, capture_output=True)
    return made


def states(context, program, length):
    """Where a program leaves its hidden states."""
    return context.folder / f"{program.replace(' ', '-')}-{length}.safetensors"


def ids(context, length):
    path = context.folder / f"ids-{length}.safetensors"
    if not path.exists():
        context.json([context.peer_python, PEER, "ids", length, path], 5)
    return path


def peer(context, program, length):
    library, dtype, _, seconds = PEERS[program]
    times = 4 if library == "onnxruntime" else 3  # the export computes the text as well
    return context.json([context.peer_python, PEER, library, directory(context), length, dtype, context.threads, states(context, program, length)],
                        expected_seconds(times, seconds, length))


def weft(context, program, length):
    flags, _, seconds = WEFT[program.removeprefix("Weft ")]
    return context.json([context.weft, "bench", "model", directory(context), "--length", length, *flags, "--repeats", 2, "--threads", context.threads, "--json"],
                        expected_seconds(3, seconds, length))


def difference(context, program, length):
    """The largest difference from the reference; RuntimeError where it is too large to be the same computation."""
    peer(context, REFERENCE, length)
    if program == REFERENCE:
        return 0.0
    if program in PEERS:
        peer(context, program, length)
        allowed = PEERS[program][2]
    else:
        flags, allowed, seconds = WEFT[program.removeprefix("Weft ")]
        context.json([context.weft, "forward", directory(context), "--input", ids(context, length), "--output", states(context, program, length), *flags,
                      "--threads", context.threads, "--json"], expected_seconds(1, seconds, length))
    found = context.json([context.peer_python, PEER, "difference", states(context, program, length), states(context, REFERENCE, length)], 5)["difference"]
    if not found <= allowed:
        raise RuntimeError(f"hidden states differ by {found:.3g} from the reference, more than {allowed:g}: its time says nothing")
    return found


def read(program, length, field):
    def value(context):
        found = difference(context, program, length)
        return found if field == "difference" else (weft if program.startswith("Weft ") else peer)(context, program, length)[field]
    return value
