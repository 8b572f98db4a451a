# SPDX-License-Identifier: Apache-2.0
"""A step of `weft train` on the GPU beside the same on the CPU: the loss and the gradient of every parameter of a small model with dropout, in float32.
It is what asks libweft's own backward pass, which the other parts time and do not compare.

Both draw the same weights and the same dropout, so that gradients differ by rounding alone. AdamW's first moment behind the first step is a tenth of the
gradient, and the checkpoint has it."""
import json
import math
import pathlib
import struct
import tempfile

import torch

from . import attempts, models

# Relative to the norm of a parameter's gradient. Processors of four instruction sets differ by at most 7e-7 here, and kernels of a GPU may be off by 6e-6
# in float32 (calls.MOST): five times that. Products as TF32 are off by some 5e-4, and other draws of dropout by 1e-1 and more.
MOST = 3e-5
LINE = {"part": "models", "model": "a small decoder, one step of training"}
# Heads of 64 columns, in one layer full blocks and others, in the other long rows besides.
WORDS = ("--layers", 2, "--width", 128, "--heads", 2, "--context", 256, "--batch-size", 2, "--steps", 1, "--dtype", "float32", "--clip-norm", 0,
         "--hidden-dropout-prob", 0.1, "--attention-probs-dropout-prob", 0.1, "--attention", "causal & window(300)", "causal & window(90) | global(2)")


def step(device, *more):
    """(the loss, {parameter: its gradient}) of the first step."""
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        models.program(["train", "--train-text", models.ROOT / "README.md", *WORDS, "--device", device, "--out", run, "--json", *more])
        loss = json.loads((run / "metrics.jsonl").read_text().splitlines()[0])["loss"]
        return loss, first_moments((run / "checkpoints/step-1/optimizer.safetensors").read_bytes())


def first_moments(file):
    """{parameter: float64 [numbers]} of a checkpoint's optimizer.safetensors: a length of 8 bytes, JSON that says where each tensor is, tensors."""
    begin = 8 + struct.unpack("<Q", file[:8])[0]
    found = {}
    for name, of in json.loads(file[8:begin]).items():
        if name.startswith("first_moment."):
            first, last = of["data_offsets"]
            found[name.removeprefix("first_moment.")] = torch.frombuffer(bytearray(file[begin + first : begin + last]), dtype=torch.float32).double()
    return found


def beforehand(is_small):
    """step() on the CPU, "not run: ..." where the package is not there, or the error that it ended with: none of it needs a turn of the GPU."""
    try:
        return attempts.absent("weft_attention", "weft_attention_runtime") or step("cpu")
    except Exception as error:  # noqa: BLE001: the turn says it
        return error


def run(device, say, is_small, right):
    """One line. `right` is that of beforehand(). At small sizes the CPU does it once more, by one thread."""
    if isinstance(right, str):
        say({**LINE, "verdict": right})
    else:
        attempts.attempt(say, LINE, lambda: compared(right, lambda: step(device.type, *(("--threads", 1) if is_small else ()))))


def compared(right, work):
    if isinstance(right, Exception):
        raise right
    loss, gradients = work()
    off = {name: float((gradients[name] - of).norm() / of.norm().clamp_min(1e-30)) for name, of in right[1].items()}
    worst = max(off, key=off.get)
    wrong = None
    if not off[worst] <= MOST:
        wrong = f"the gradient of {worst} is off by {off[worst]:.2e} from that of the CPU, at most {MOST:.0e} is right"
    elif not abs(loss - right[0]) <= MOST * abs(right[0]):
        wrong = f"the loss is {loss}, that of the CPU {right[0]}"
    norms = [math.sqrt(sum(float(of.norm()) ** 2 for of in gradients)) for gradients in (gradients.values(), right[1].values())]
    return {"loss": [loss, right[0]], "norm_of_first_moments": norms, "gradients_off": off[worst], "worst": worst, "wrong": wrong}
