# SPDX-License-Identifier: Apache-2.0
"""attend: one call of sparse attention on tensors of PyTorch, with gradients."""
import functools
import math

from . import _core
from ._errors import ArgumentError, PatternError, UnsupportedError
from ._kept_layouts import living_layout
from ._operators import call_attend, ready_operator
from ._pattern import Pattern, canonical


def attend(
    query,
    key,
    value,
    pattern,
    *,
    key_keep=None,
    causal=False,
    scale=None,
    dropout_p=0.0,
    layer=0,
    query_offset=None,
    slopes=None,
    return_lse=False,
):
    """Attention over the edges of a pattern: for each query the softmax over the keys that it looks at. With gradients.

    Args:
        query: [B, H, Q, D], on the CPU, any strides; float32, bfloat16, float16; float64 with weft-attention-runtime.
        key, value: [B, G, K, D] and [B, G, K, C] of the same dtype; query head h reads head h // (H / G).
        pattern: an expression or a `Pattern`.
        key_keep: bool [B, K], False at padding.
        causal: adds `causal &` to the pattern.
        scale: what scores are multiplied by; 1 / sqrt(D) where it is None.
        dropout_p: the share of probabilities that is dropped, drawn by PyTorch's generator.
        layer: the number that `layer` of the expression means.
        query_offset: the position of the first query: 0 with as many queries as keys, else say it (K - Q at the end).
        slopes: float [H], a tensor or a list, ALiBi: `-slope * |distance|` is added to each score.

    Returns:
        [B, H, Q, C], zeros for a query without edges; with return_lse also the logarithm of the sum of exponentials,
        [B, H, Q] in float32 (float64 for float64), without gradients.

    Raises:
        PatternError: the expression does not parse (with line and column), or does not fit these lengths and heads.
        ArgumentError: shapes that do not fit each other; it is a ValueError.
        UnsupportedError: what is not computed here, such as other devices, other dtypes and second derivatives.
    """
    import torch

    text = str(pattern) if torch.compiler.is_compiling() else _text_of(pattern)
    if causal:
        text = f"causal & ({text})"
    _check_tensors(torch, query=query, key=key, value=value)
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise ArgumentError(
            f"query, key and value must be [batch, heads, length, head_dim], found {_shapes(query, key, value)}"
        )
    rows, keys = query.shape[2], key.shape[2]
    if query_offset is None:
        if rows != keys and text != "full":
            raise ArgumentError(
                f"{rows} queries over {keys} keys need query_offset, the position of the first query",
                f"query_offset={keys}-{rows} for the last positions of a text, query_offset=0 for the first",
            )
        query_offset = 0
    distances = None if slopes is None else _alibi(torch, torch.as_tensor(slopes).to(_sums(torch, query)), query_offset, rows, keys)
    settings = {"key_keep": key_keep, "scale": scale, "dropout_p": dropout_p, "layer": layer, "query_offset": query_offset}
    out, lse = attend_text(query, key, value, text, **settings, distances=distances)
    return (out, lse) if return_lse else out


def _check_tensors(torch, **given):
    for name, tensor in given.items():
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"attend: {name} is a {type(tensor).__name__}; expected a torch.Tensor")


def attend_text(query, key, value, text, *, key_keep, scale, dropout_p, layer, query_offset, distances=None):
    """attend of a text that is known to parse, or that names a kept layout: (output, log of the sum of exponentials).
    distances: a table as the operator takes it, and its entry of distance 0."""
    import torch

    seed = torch.randint(0, 2**62, (1,), dtype=torch.int64) if dropout_p > 0 else None
    table, zero = (None, 0) if distances is None else distances
    scale = 1.0 / math.sqrt(query.shape[3]) if scale is None else float(scale)
    arguments = (query, key, value, key_keep, seed, table, text, query_offset, layer, zero, scale, float(dropout_p))
    if torch.compiler.is_compiling():
        return ready_operator(torch, query.dtype == torch.float64)(*arguments)
    return _called(torch, arguments)


def _sums(torch, query):
    """The dtype that sums are kept in."""
    return torch.float64 if query.dtype == torch.float64 else torch.float32


def _refuse_forward_mode(torch, *tensors):
    # PyTorch would take a gradient that nobody registered for zero.
    forward_mode = torch.autograd.forward_ad
    if forward_mode._current_level >= 0:
        for tensor in tensors:
            if forward_mode.unpack_dual(tensor).tangent is not None:
                raise UnsupportedError("forward-mode derivatives (jvp) of attend are not there; use backward()")


def _called(torch, arguments):
    _refuse_forward_mode(torch, *arguments[:3])
    kept = living_layout(arguments[6])
    if kept is not None:
        kept.keep()
    try:
        return call_attend(torch, arguments)
    except RuntimeError as error:
        _explain(error, arguments)
        raise


def _explain(error, arguments):
    """Raises what the operator's RuntimeError means; errors of the operator are one line, or a caret below a text."""
    query, key, value, _, _, _, text, offset, layer, *_ = arguments
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.device.type != "cpu":
            raise UnsupportedError(f"attend: {name} must be on the CPU, found {tensor.device}") from None
    if isinstance(error, UnsupportedError):
        return
    message = str(error).split("\nException raised from", 1)[0].strip()
    if "float32, bfloat16 or float16" in message:
        raise UnsupportedError(message) from None
    if not text.startswith("kept:"):
        site = _core.Site(query.shape[2], key.shape[2], heads=query.shape[1], layer=layer, query_offset=offset)
        _core.check(text, site)
        if _core.needs_input(text):
            raise PatternError(message)
    if message.startswith(("attend", "attention", "pattern", "kernel")):
        raise ArgumentError(message) from None


def _text_of(pattern):
    if isinstance(pattern, Pattern):
        return pattern.expression
    return canonical(pattern)


def _shapes(*tensors):
    return ", ".join(str(list(tensor.shape)) for tensor in tensors)


def _alibi(torch, slopes, offset, rows, keys):
    """[H, 1, span] of the scores at each distance from query to key, in the dtype of `slopes`, and the entry of distance
    0."""
    least, most = min(0, offset - keys + 1), max(0, offset + rows - 1)
    distance = torch.arange(least, most + 1, dtype=slopes.dtype, device=slopes.device)
    return slopes[:, None, None] * -distance.abs(), -least


@functools.lru_cache(maxsize=None)
def module_class():
    import torch

    class Attend(torch.nn.Module):
        """attend with its pattern as a module without parameters: `Attend("causal & window(512)")(query, key, value)`.
        The other arguments of `attend` may be given here or in a call; dropout_p works in training only."""

        def __init__(self, pattern, **options):
            super().__init__()
            self.pattern = Pattern(pattern)
            self.options = options

        def forward(self, query, key, value, **options):
            given = {**self.options, **options}
            if not self.training:
                given["dropout_p"] = 0.0
            return attend(query, key, value, self.pattern, **given)

        def extra_repr(self):
            return ", ".join([repr(str(self.pattern)), *(f"{name}={given}" for name, given in self.options.items())])

    Attend.__module__, Attend.__qualname__ = "weft_attention", "Attend"
    return Attend
