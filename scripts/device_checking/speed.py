# SPDX-License-Identifier: Apache-2.0
"""Times of our kernels and of dense attention by cuDNN and flash."""
import dataclasses

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from . import library as kernels
from . import timing

WIDTH = 64
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
