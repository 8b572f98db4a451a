# SPDX-License-Identifier: Apache-2.0
"""Times of our kernels and of dense attention by cuDNN and flash: of whole texts, and of one query a text over a cache of keys."""
import contextlib
import dataclasses

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from . import library as kernels
from . import patterns, timing

WIDTH = 64
IN_A_ROW = 20  # calls of one query that are timed together: each takes microseconds
BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}


@dataclasses.dataclass(frozen=True)
class Setting:
    """What all are timed at: one text, bfloat16, heads of WIDTH."""

    library: kernels.Library
    device: torch.device
    heads: int
    length: int

    def inputs(self):
        made = torch.Generator(device=self.device).manual_seed(7)
        shape = (1, self.heads, self.length, WIDTH)
        return kernels.Inputs(*(torch.randn(shape, generator=made, device=self.device).to(torch.bfloat16) for _ in range(4)))


def ours(setting, timed):
    case = kernels.Case(setting.library, timed.expression, setting.inputs())
    forward = timing.milliseconds(case.forward, setting.device)

    def both():
        case.forward()
        case.backward()

    both_ways = timing.milliseconds(both, setting.device)
    rate = [case.operations(is_both) / time / 1e9 for is_both, time in ((False, forward), (True, both_ways))]
    return {"who": "weft", "pattern": timed.name, "length": setting.length, "forward": forward, "both": both_ways, "teraflops": rate,
            "edges": case.edges, "bytes_besides_tensors": case.memory()}  # fmt: skip


def with_gradients(attention, inputs):
    """Attention forwards and backwards as one call."""
    leaves = inputs.leaves()

    def both():
        for leaf in leaves:
            leaf.grad = None
        attention(*leaves).backward(inputs.output_gradient)

    return both


def dense(setting, backend):
    """`backend` is one of BACKENDS."""
    inputs, attention = setting.inputs(), torch.nn.functional.scaled_dot_product_attention
    with sdpa_kernel(BACKENDS[backend]):
        with torch.no_grad():
            forward = timing.milliseconds(lambda: attention(inputs.query, inputs.key, inputs.value), setting.device)
        both = timing.milliseconds(with_gradients(attention, inputs), setting.device)
    return {"who": backend, "pattern": "dense", "length": setting.length, "forward": forward, "both": both}


def decoded_inputs(setting, texts, keys):
    made = torch.Generator(device=setting.device).manual_seed(9)
    shapes = [(texts, setting.heads, length, WIDTH) for length in (1, keys, keys, 1)]
    return kernels.Inputs(*(torch.randn(shape, generator=made, device=setting.device).to(torch.bfloat16) for shape in shapes))


def decoding(setting, texts, keys, name):
    """One query a text by our kernel, `name` of patterns.DECODED. Calls follow each other, so that a cache that fits into the processor's own memory is
    read from there; `gigabytes` are those of the keys and values that a query sees, a second."""
    case = kernels.Case(setting.library, patterns.DECODED[name], decoded_inputs(setting, texts, keys))
    return of_one_call(setting, case.forward, case.edges)


def decoding_by_flash(setting, texts, keys):
    """The same over all keys by flash."""
    inputs, attention = decoded_inputs(setting, texts, keys), torch.nn.functional.scaled_dot_product_attention
    with sdpa_kernel(BACKENDS["flash"]) if setting.device.type == "cuda" else contextlib.nullcontext(), torch.no_grad():
        return of_one_call(setting, lambda: attention(inputs.query, inputs.key, inputs.value), texts * setting.heads * keys)


def of_one_call(setting, work, edges):
    def in_a_row():
        for _ in range(IN_A_ROW):
            work()

    forward = timing.milliseconds(in_a_row, setting.device) / IN_A_ROW
    return {"forward": forward, "gigabytes": edges * 2 * WIDTH * 2 / forward / 1e6}
