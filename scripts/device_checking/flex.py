# SPDX-License-Identifier: Apache-2.0
"""FlexAttention of the edges of a pattern."""
import torch
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from . import library as kernels
from . import patterns, speed, timing


def mask_of(setting, timed, block):
    """A BlockMask with the pattern's own blocks: it does not ask its function about every pair to find them, which takes up to 93 ms and memory by
    the square of the length."""
    blocks = setting.library.blocks(timed.expression, setting.heads, setting.length, block).to(setting.device)
    some, full = (listed(blocks == kind) for kind in (1, 2))
    lengths = (setting.length, setting.length)
    return BlockMask.from_kv_blocks(*some, *full, BLOCK_SIZE=block, mask_mod=function_of(setting, timed), seq_lengths=lengths)


def listed(wanted):
    """Numbers and places of the blocks of each row, those that are wanted first: [1, heads, rows] and [1, heads, rows, columns]."""
    counts = wanted.sum(-1, dtype=torch.int32)
    places = torch.argsort(wanted.to(torch.int8), dim=-1, descending=True, stable=True).to(torch.int32)
    return counts[None].contiguous(), places[None].contiguous()


def function_of(setting, timed):
    """Whether a query sees a key: arithmetic where the pattern has it, else a table of blocks of 64."""
    if timed.name == "window":
        return lambda batch, head, query, key: (query - key).abs() <= patterns.WIDTH
    if timed.name == "longformer":
        return lambda batch, head, query, key: ((query - key).abs() <= patterns.WIDTH) | (query < patterns.GLOBALS) | (key < patterns.GLOBALS)
    table = setting.library.blocks(timed.expression, setting.heads, setting.length, 64).to(setting.device) != 0
    return lambda batch, head, query, key: table[head, query // 64, key // 64]


class Flex:
    """One pattern in one size of blocks, compiled when it is made: minutes of a processor, so that each has its process."""

    def __init__(self, setting, timed, block):
        self.setting, self.timed, self.inputs = setting, timed, setting.inputs()
        self.about = {"who": f"flex{block}", "pattern": timed.name, "length": setting.length}
        mask = mask_of(setting, timed, block)
        compiled = torch.compile(flex_attention, dynamic=False) if setting.device.type == "cuda" else flex_attention
        # What is compiled by default has tiles of 128, which must divide blocks.
        options = {"fwd_BLOCK_M": block, "fwd_BLOCK_N": block} if block < 128 else None
        self.attention = lambda query, key, value: compiled(query, key, value, block_mask=mask, kernel_options=options)
        with torch.no_grad():
            self.output = self.forward()
        self.both, self.problem = speed.with_gradients(self.attention, self.inputs), None
        try:
            self.both()
        except Exception as error:  # noqa: BLE001: Inductor has no choice for blocks of 64, and says so by a class of its own
            said = str(error).splitlines() or [""]
            self.both, self.problem = None, f"{type(error).__name__}: {said[0][:200]}"

    def forward(self):
        return self.attention(self.inputs.query, self.inputs.key, self.inputs.value)

    def difference(self):
        """How far our output is from FlexAttention's, relative to its norm: whether both have the same edges."""
        found = kernels.Case(self.setting.library, self.timed.expression, self.inputs).forward().double()
        return float((found - self.output.double()).norm() / self.output.double().norm())

    def times(self):
        with torch.no_grad():
            forward = timing.milliseconds(self.forward, self.setting.device)
        both = timing.milliseconds(self.both, self.setting.device) if self.both else None
        return {**self.about, "forward": forward, "both": both, **({"backward_problem": self.problem} if self.problem else {})}
