# SPDX-License-Identifier: Apache-2.0
"""Times of our kernels, of dense attention by cuDNN and flash, and of FlexAttention, at one size."""
from . import library as kernels
from . import patterns, timing

HEADS, WIDTH = 12, 64


def tensors(torch, length, device, heads=HEADS):
    """Query, key, value and the gradient of the output, bfloat16."""
    made = torch.Generator(device=device).manual_seed(7)
    shape = (1, heads, length, WIDTH)
    return [torch.randn(shape, generator=made, device=device, dtype=torch.float32).to(torch.bfloat16) for _ in range(4)]


def ours(torch, library, timed, length, device, heads=HEADS):
    query, key, value, output_gradient = tensors(torch, length, device, heads)
    case = kernels.Case(torch, library, timed.expression, query, key, value)
    forward = timing.milliseconds(torch, case.forward, device)

    def both():
        case.forward()
        case.backward(output_gradient)

    both_ways = timing.milliseconds(torch, both, device)
    rate = [case.operations(is_both) / time / 1e9 for is_both, time in ((False, forward), (True, both_ways))]
    return {"who": "weft", "pattern": timed.name, "length": length, "forward": forward, "both": both_ways, "teraflops": rate, "edges": case.edges,
            "bytes_besides_tensors": case.memory()}


def with_gradients(torch, attention, query, key, value, output_gradient):
    leaves = [of.detach().requires_grad_() for of in (query, key, value)]

    def both():
        for leaf in leaves:
            leaf.grad = None
        attention(*leaves).backward(output_gradient)

    return both


def dense(torch, backend, length, device, heads=HEADS):
    """`backend`: "cudnn" or "flash"."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    query, key, value, output_gradient = tensors(torch, length, device, heads)
    chosen = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}[backend]
    attention = torch.nn.functional.scaled_dot_product_attention
    with sdpa_kernel(chosen):
        with torch.no_grad():
            forward = timing.milliseconds(torch, lambda: attention(query, key, value), device)
        both = timing.milliseconds(torch, with_gradients(torch, attention, query, key, value, output_gradient), device)
    return {"who": backend, "pattern": "dense", "length": length, "forward": forward, "both": both}


class Flex:
    """FlexAttention of a pattern at one size of blocks, compiled when it is made: minutes of a processor, so that each has its process."""

    def __init__(self, torch, library, timed, block, length, device, heads=HEADS):
        from torch.nn.attention.flex_attention import flex_attention

        self.torch, self.device, self.about = torch, device, {"who": f"flex{block}", "pattern": timed.name, "length": length}
        mask = patterns.flex_mask(torch, library, timed, heads, length, block, device)
        compiled = torch.compile(flex_attention, dynamic=False) if device.type == "cuda" else flex_attention
        self.attention = lambda query, key, value: compiled(query, key, value, block_mask=mask)
        self.tensors = tensors(torch, length, device, heads)
        with torch.no_grad():
            self.output = self.attention(*self.tensors[:3])
        self.both, self.problem = with_gradients(torch, self.attention, *self.tensors), None
        try:
            self.both()
        except Exception as error:  # noqa: BLE001: Inductor has no choice for blocks of 64, by a class of its own
            self.both, self.problem = None, f"{type(error).__name__}: {str(error).splitlines()[0][:200]}" if str(error) else type(error).__name__

    def difference(self, library, timed):
        """How far our output is from FlexAttention's, relative to its norm: whether both have the same edges."""
        found = kernels.Case(self.torch, library, timed.expression, *self.tensors[:3]).forward().double()
        return float((found - self.output.double()).norm() / self.output.double().norm())

    def times(self):
        with self.torch.no_grad():
            forward = timing.milliseconds(self.torch, lambda: self.attention(*self.tensors[:3]), self.device)
        both = timing.milliseconds(self.torch, self.both, self.device) if self.both else None
        return {**self.about, "forward": forward, "both": both, **({"backward_problem": self.problem} if self.problem else {})}
