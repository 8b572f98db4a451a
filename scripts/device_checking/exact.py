# SPDX-License-Identifier: Apache-2.0
"""Output and gradients of the kernels against float64, beside those of PyTorch's attention on the same inputs."""
import dataclasses
import itertools
import random
import time

import torch

from . import library as kernels

# The largest error that is allowed, relative to the norm of what is right, whatever PyTorch has: rounding of the result to the dtype and of the
# weights before the second product (half a unit each), and a quarter of that again for sums. Gradients have one product more.
MOST = {"bfloat16": (4e-3, 6e-3), "float16": (6e-4, 9e-4), "float32": (2e-6, 6e-6),
        "tf32": (2e-3, 4e-3)}  # factors of 11 bits, cut and not rounded, in both products
# Ours over PyTorch's: the same up to the order of sums.
OVER_RIVAL = 1.1
SHOWN = 40  # calls of which each has a line, whatever it says
MOST_SMALL = 21
NAN_CHECK = "NaN in window(40)"
RESULTS = ("output", "dQ", "dK", "dV", "the distances' gradient")


@dataclasses.dataclass(frozen=True)
class Call:
    expression: str
    dtype: str = "bfloat16"
    batch: int = 1
    heads: int = 2
    key_heads: int = 2
    length: int = 300
    head_dim: int = 64
    value_dim: int = 64
    has_padding: bool = False
    is_by_rows: bool = False  # [B, N, H, D] in memory
    dropout: float = 0.0  # with the draws of the CPU
    is_tf32: bool = False  # float32 multiplied with 11 bits
    is_decoded: bool = False  # one query, behind all keys
    has_distances: bool = False  # a table is added to scores
    has_positions: bool = False  # rows see by positions, a permutation for each head

    def __str__(self):
        return (f"{self.expression} {self.dtype} B{self.batch} H{self.heads}/{self.key_heads} N{self.length} D{self.head_dim}/{self.value_dim}"
                f"{' one query' if self.is_decoded else ''}"
                f"{' padded' if self.has_padding else ''}{' by rows' if self.is_by_rows else ''}"
                f"{f' dropout {self.dropout}' if self.dropout else ''}{' as TF32' if self.is_tf32 else ''}"
                f"{' distances' if self.has_distances else ''}{' positions' if self.has_positions else ''}")

    def queries(self):
        return 1 if self.is_decoded else self.length

    def most(self):
        return MOST["tf32" if self.is_tf32 else self.dtype]


def named_calls(is_small):
    """Those of which each has something of its own: dtypes, widths, tails, grouped heads, empty rows, weights, long rows, padding, strides."""
    length = 130 if is_small else 1000
    for dtype in ("bfloat16", "float16", "float32"):
        yield Call("window(64)", dtype, length=length)
    if not is_small:  # whole slices, which have kernels of their own on Hopper: full blocks and others, shared keys, parts that are joined
        for dropout in (0.0, 0.25):
            yield Call("window(150) | global(2)", length=1280, batch=2, heads=4, key_heads=2, dropout=dropout)
    for dtype in ("bfloat16", "float32"):
        yield Call("window(64) | global(2)", dtype, length=length, dropout=0.25, batch=2)
    yield Call("window(64)", "float32", length=length, is_tf32=True)
    yield Call("full", length=length)
    yield Call("causal & window(left=70)", heads=4, key_heads=2, length=length)
    yield Call("bigbird(block=16, window=3, random=1, plan=\"uniform\")", length=length, batch=2, has_padding=True)
    yield Call("window(32) | global(3)", "float16", length=length, is_by_rows=True)
    yield Call("causal & !window(left=20)", length=length)  # the first rows see nothing
    yield Call("circle(left=40, right=40)", "float32", length=70)  # steps that meet weigh twice
    yield Call("full", batch=2, heads=4, length=length, is_decoded=True, has_padding=True)
    yield Call("causal & window(left=90)", "float32", length=length, is_decoded=True)
    for dtype in ("bfloat16", "float32"):
        yield Call("window(150) | global(1)", dtype, length=length, has_distances=True)
    yield Call("causal & window(left=90)", "float16", length=length, has_distances=True, dropout=0.1)
    yield Call("full", key_heads=1, length=min(length, 300), has_positions=True)
    for width in (16, 40) if is_small else (16, 24, 32, 40, 80, 96, 128, 160, 256):
        yield Call("window(64)", length=length, head_dim=width, value_dim=width)
    if not is_small:
        yield Call("full", length=4096, heads=1, key_heads=1)  # parts that are joined
        yield Call("full", "float16", length=2048, heads=1, key_heads=1)
        yield Call("window(128) | global(40)", "float32", length=2500)


def random_calls(seed, is_small):
    """Without end."""
    draw = random.Random(seed)
    while True:
        key_heads = draw.choice((1, 2))
        length = draw.randint(1, 150 if is_small else 1200)
        width = draw.choice((16, 32, 64)) if is_small else draw.choice((8, 16, 32, 64, 64, 72, 128, 192, 256))
        size = draw.randint(1, 200)
        expression = draw.choice((f"window({size})", f"causal & window(left={size})", f"window({size}) | global({draw.randint(1, 70)})", "full",
                                  f"causal & stride({draw.randint(2, 9)})", f"segment({size})", f"window({size}, dilation=3)"))
        yield Call(expression, draw.choice(("bfloat16", "float16", "float32")), draw.choice((1, 2)), key_heads * draw.choice((1, 3)), key_heads, length, width,
                   draw.choice((width, 64)), draw.random() < 0.3, draw.random() < 0.3)


def inputs_of(call, device, seed):
    made = torch.Generator().manual_seed(seed)
    dtype = getattr(torch, call.dtype)

    def draw(heads, length, width):
        if call.is_by_rows:
            return torch.randn(call.batch, length, heads, width, generator=made).to(dtype).to(device).transpose(1, 2)
        return torch.randn(call.batch, heads, length, width, generator=made).to(dtype).to(device)

    query = draw(call.heads, call.queries(), call.head_dim)
    key, value = (draw(call.key_heads, call.length, width) for width in (call.head_dim, call.value_dim))
    output_gradient, keep = draw(call.heads, call.queries(), call.value_dim), None
    if call.has_padding:
        keep = torch.ones(call.batch, call.length, dtype=torch.uint8)
        keep[-1, call.length * 2 // 3 :] = 0
        keep = keep.to(device)
    distances = torch.randn(call.heads, 201, generator=made).to(device) if call.has_distances else None
    positions = None
    if call.has_positions:
        orders = [torch.rand(call.batch, heads, count, generator=made) for heads, count in ((call.heads, call.queries()), (call.key_heads, call.length))]
        positions = tuple(order.argsort(-1).int().to(device) for order in orders)
    return kernels.Inputs(query, key, value, output_gradient, keep, distances, positions)


def edges_of(inputs, counts):
    """`counts` [heads, queries, keys] on the device, [B or 1, heads, queries, keys], 0 at padding and where positions hide a key."""
    seen = counts.to(inputs.query.device)[None]
    if inputs.positions is not None:
        queries, keys = inputs.positions
        seen = seen * (keys.repeat_interleave(queries.shape[1] // keys.shape[1], 1)[:, :, None, :] <= queries[..., None])
    return seen if inputs.key_keep is None else seen * inputs.key_keep[:, None, None, :]


def distance_scores(inputs, table):
    """[heads, queries, keys] of a table [heads, span]: beyond either end the entry at that end."""
    queries, keys, span = inputs.query.shape[2], inputs.key.shape[2], table.shape[1]
    at = torch.arange(queries, device=table.device)[:, None] + (keys - queries) - torch.arange(keys, device=table.device)
    return table[:, (at + span // 2).clamp(0, span - 1)]


def reference(inputs, counts, kept=None):
    """[output, dQ, dK, dV] of dense attention in float64, and the gradient of the distances; rows without edges are zeros. `kept` [B, H, Q, K]: what
    each weight is multiplied with."""
    leaves = inputs.leaves(torch.float64)
    groups = inputs.query.shape[1] // inputs.key.shape[1]
    key, value = (of.repeat_interleave(groups, 1) for of in leaves[1:])
    seen = edges_of(inputs, counts).double()
    has_edges = seen.sum(-1, keepdim=True) > 0
    scores = leaves[0] @ key.transpose(2, 3) * kernels.scale_of(inputs.query) + seen.log()
    if inputs.distances is not None:
        leaves.append(inputs.distances.double().requires_grad_())
        scores = scores + distance_scores(inputs, leaves[-1])
    weights = torch.where(has_edges, scores, 0).softmax(-1)
    weights = torch.where(has_edges, weights, 0)
    output = (weights if kept is None else weights * kept) @ value
    output.backward(inputs.output_gradient.double())
    return [output.detach(), *(of.grad for of in leaves)]


def rival(inputs, counts):
    """The same by scaled_dot_product_attention in the dtype of the inputs: flash without a mask, else whichever PyTorch takes with one. None where a
    row sees nothing, or an edge counts twice: it has no such thing."""
    seen = edges_of(inputs, counts) != 0
    if int(counts.max()) > 1 or not bool(seen.any(-1).all()):
        return None
    leaves, query = inputs.leaves(), inputs.query
    mask = None if bool(seen.all()) else seen.expand(query.shape[0], query.shape[1], -1, -1)
    attention = torch.nn.functional.scaled_dot_product_attention
    output = attention(*leaves, attn_mask=mask, enable_gqa=query.shape[1] != inputs.key.shape[1])
    output.backward(inputs.output_gradient)
    return [output.detach(), *(of.grad for of in leaves)]


def error(found, right):
    """Relative to the norm; NaN and infinity are as they are."""
    return float((found.double() - right).norm() / right.norm().clamp_min(1e-30))


def check(library, call, device, seed):
    """{"call", "errors" of output, dQ, dK, dV, "rival", "wrong": what is wrong or None}."""
    inputs = inputs_of(call, device, seed)
    counts = library.multiplicity(call.expression, call.heads, call.queries(), call.length)
    case = kernels.Case(library, call.expression, inputs, call.dropout, call.is_tf32)
    kept = case.kept().double() / (1 - call.dropout) if call.dropout else None
    found = [case.forward().clone(), *(of.clone() for of in case.backward())]
    again = [case.forward(), *case.backward()]
    right = reference(inputs, counts, kept)
    errors = [error(*pair) for pair in zip(found, right)]
    theirs = None if call.dropout or call.has_distances else rival(inputs, counts)
    theirs = None if theirs is None else [error(*pair) for pair in zip(theirs, right)]
    wrong = verdict(call, errors, theirs)
    for name, first, second in zip(RESULTS, found, again):
        if wrong is None and not torch.equal(first, second):
            wrong = f"{name} has other bits when it runs again"
    return {"call": str(call), "errors": errors, "rival": theirs, "wrong": wrong}


def verdict(call, errors, theirs):
    most = call.most()
    for at, (name, of) in enumerate(zip(RESULTS, errors)):
        if not of <= most[at > 0]:
            return f"{name} is off by {of:.2e}, at most {most[at > 0]:.0e} is right"
        # Gradients of one query are too few numbers to be held against each other's rounding.
        if theirs and call.dtype != "float32" and not (call.is_decoded and at > 0) and of > OVER_RIVAL * theirs[at] + 1e-5:
            return f"{name} is off by {of:.2e}, PyTorch's by {theirs[at]:.2e}"
    return None


def not_finite(library, device):
    """A NaN of a value reaches the queries that see its key, in its column, and no other; what it does not reach is right. Its bits may be others:
    a block with a NaN runs again in a kernel of its own, which rounds by itself."""
    call = Call("window(40)", length=200)
    inputs = inputs_of(call, device, 5)
    right = reference(inputs, library.multiplicity(call.expression, call.heads, call.length, call.length))[0]
    inputs.value[:, :, 100, 3] = float("nan")
    spoilt = kernels.Case(library, call.expression, inputs).forward()
    at = torch.arange(call.length, device=device)
    reached = torch.zeros_like(spoilt, dtype=torch.bool)
    reached[:, :, (at - 100).abs() <= 20, 3] = True
    wrong = None
    if not torch.equal(spoilt.isnan(), reached):
        wrong = "a NaN of a value does not reach what sees it, or reaches other things"
    elif not (off := error(spoilt[~reached], right[~reached])) <= MOST[call.dtype][0]:
        wrong = f"what a NaN does not reach is off by {off:.2e}"
    return {"call": NAN_CHECK, "wrong": wrong}


def attempted(name, work):
    """(what `work` returns, or what went wrong; whether a kernel failed, which takes the process's GPU with it)."""
    try:
        return work(), False
    except RuntimeError as error:  # as CUDA's are
        return {"call": name, "wrong": f"{type(error).__name__}: {(str(error).splitlines() or ['no reason'])[0][:200]}"}, True


def run(library, device, say, deadline, is_small, after=0):
    """Says a line a check until time() passes `deadline`; random calls fill the time. The check of NaN has number 0, calls follow from 1 on; those
    before number `after` are left out. Returns the number of a check whose kernels failed, after which nothing runs in this process, else None."""
    if after == 0:
        found, has_failed = attempted(NAN_CHECK, lambda: not_finite(library, device))
        say({"part": "exact", **found})
        if has_failed:
            return 0
    counted = wrong = 0
    failed = None
    for number, call in enumerate(itertools.chain(named_calls(is_small), random_calls(1, is_small)), start=1):
        if number < after:
            continue
        if time.monotonic() > deadline or (is_small and counted >= MOST_SMALL):
            break
        found, has_failed = attempted(str(call), lambda call=call, number=number: check(library, call, device, number))
        failed = number if has_failed else None
        counted += 1
        wrong += found["wrong"] is not None
        if found["wrong"] or number <= SHOWN:
            say({"part": "exact", **found})
        if failed is not None:
            break
    say({"part": "exact", "checked": counted, "wrong_calls": wrong})
    return failed
