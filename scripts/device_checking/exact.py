# SPDX-License-Identifier: Apache-2.0
"""Output and gradients of the kernels against float64, beside those of PyTorch's attention on the same inputs."""
import contextlib
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from . import attempts, calls
from . import library as kernels
from .calls import Call

# The rule: on the same inputs in bfloat16 an error of at most flash attention's. `full` calls are held to it as it is (Call.is_against_flash).
OVER_FLASH = 1.0
# Elsewhere PyTorch is another thing: with a mask or with shared heads it may take an attention that keeps scores in float32 or rounds at other places,
# and of few numbers chance decides. So a tenth more is allowed there, and 1e-5 where its error is next to nothing, as where a row sees one key.
OVER_RIVAL, BESIDE_RIVAL = 1.1, 1e-5
SHOWN = 40  # calls of which each has a line, whatever it says
MOST_SMALL = 21
NAN_CHECK = "NaN in window(40)"
RESULTS = ("output", "dQ", "dK", "dV", "the distances' gradient")


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


def rival(inputs, counts, is_flash=False):
    """The same by scaled_dot_product_attention in the dtype of the inputs: by flash where that is asked for, else by whichever PyTorch takes. None where
    a row sees nothing, or an edge counts twice: it has no such thing."""
    seen = edges_of(inputs, counts) != 0
    if int(counts.max()) > 1 or not bool(seen.any(-1).all()):
        return None
    leaves, query = inputs.leaves(), inputs.query
    mask = None if bool(seen.all()) else seen.expand(query.shape[0], query.shape[1], -1, -1)
    attention = torch.nn.functional.scaled_dot_product_attention
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION) if is_flash else contextlib.nullcontext():
        output = attention(*leaves, attn_mask=mask, enable_gqa=query.shape[1] != inputs.key.shape[1])
        output.backward(inputs.output_gradient)
    return [output.detach(), *(of.grad for of in leaves)]


def error(found, right):
    """Relative to the norm; NaN and infinity are as they are."""
    return float((found.double() - right).norm() / right.norm().clamp_min(1e-30))


def check(library, call, device, seed, counts=None):
    """{"call", "errors" of output, dQ, dK, dV, "rival": those of PyTorch, "over_rival": ours over them, "wrong": what is wrong or None}. `counts`: the
    calls.Counts that may have the call's edges."""
    inputs = inputs_of(call, device, seed)
    edges = counts.of(call) if counts else library.multiplicity(*call.sites())
    case = kernels.Case(library, call.expression, inputs, call.dropout, call.is_tf32)
    kept = case.kept().double() / (1 - call.dropout) if call.dropout else None
    found = [case.forward().clone(), *(of.clone() for of in case.backward())]
    again = [case.forward(), *case.backward()]
    right = reference(inputs, edges, kept)
    errors = [error(*pair) for pair in zip(found, right)]
    theirs = None if call.dropout or call.has_distances else rival(inputs, edges, call.is_against_flash())
    theirs = None if theirs is None else [error(*pair) for pair in zip(theirs, right)]
    wrong = verdict(call, errors, theirs)
    for name, first, second in zip(RESULTS, found, again):
        if wrong is None and not torch.equal(first, second):
            wrong = f"{name} has other bits when it runs again"
    over = None if theirs is None else [ours / max(their, 1e-30) for ours, their in zip(errors, theirs)]
    return {"call": str(call), "errors": errors, "rival": theirs, "is_flash": call.is_against_flash() or None, "over_rival": over, "wrong": wrong}


def verdict(call, errors, theirs):
    most, is_flash = call.most(), call.is_against_flash()
    factor, beside = (OVER_FLASH, 0.0) if is_flash else (OVER_RIVAL, BESIDE_RIVAL)
    for at, (name, of) in enumerate(zip(RESULTS, errors)):
        if not of <= most[at > 0]:
            return f"{name} is off by {of:.2e}, at most {most[at > 0]:.0e} is right"
        # Gradients of one query are too few numbers to be held against each other's rounding.
        if theirs and call.dtype != "float32" and not (call.is_decoded and at > 0) and of > factor * theirs[at] + beside:
            return f"{name} is off by {of:.4e}, {'flash' if is_flash else 'PyTorch'} by {theirs[at]:.4e}"
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
    elif not (off := error(spoilt[~reached], right[~reached])) <= calls.MOST[call.dtype][0]:
        wrong = f"what a NaN does not reach is off by {off:.2e}"
    return {"call": NAN_CHECK, "wrong": wrong}


def attempted(name, work):
    """(what `work` returns, or what went wrong; whether a kernel failed, which takes the process's GPU with it)."""
    try:
        return work(), False
    except (RuntimeError, kernels.Problem) as error:  # CUDA's by PyTorch, and by our library, which says so of every call behind a kernel that failed
        return {"call": name, "wrong": attempts.problem_of(error)}, True


def run(counts, device, say, deadline, is_small, after=0):
    """Says a line a check until time() passes `deadline`; random calls fill the time. The check of NaN has number 0, calls follow from 1 on; those
    before number `after` are left out. Returns the number of a check whose kernels failed, after which nothing runs in this process, else None."""
    if after == 0:
        found, has_failed = attempted(NAN_CHECK, lambda: not_finite(counts.library, device))
        say({"part": "exact", **found})
        if has_failed:
            return 0
    checked = wrong = 0
    failed = None
    for number, call in calls.numbered(is_small, after):
        if time.monotonic() > deadline or (is_small and checked >= MOST_SMALL):
            break
        found, has_failed = attempted(str(call), lambda call=call, number=number: check(counts.library, call, device, number, counts))
        failed = number if has_failed else None
        checked += 1
        wrong += found["wrong"] is not None
        if found["wrong"] or number <= SHOWN:
            say({"part": "exact", **found})
        if failed is not None:
            break
    say({"part": "exact", "checked": checked, "wrong_calls": wrong})
    return failed
