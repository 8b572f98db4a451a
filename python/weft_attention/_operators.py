# SPDX-License-Identifier: Apache-2.0
"""What PyTorch has to know of weft::attend besides its numbers: shapes while a model is traced, gradients, what becomes
of a call under vmap and autocast, and that second derivatives are refused. The same of weft::attend_general, which is
weft::attend for float64 and comes with the package weft-attention-runtime."""
import functools
import threading

from ._errors import UnsupportedError
from ._kept_layouts import living_layout
from ._native import load_operators, load_runtime

_lock = threading.Lock()
_registered = {}  # keeps the registrations alive


@functools.lru_cache(maxsize=None)
def attend_operator(general=False):
    """torch.ops.weft.attend, or attend_general, with all that belongs to it. Raises UnsupportedError where PyTorch is
    missing or too old, or the package of the general one is."""
    load_operators()
    if general:
        load_runtime("attend in float64")
    import torch

    name = "attend_general" if general else "attend"
    with _lock:
        if name not in _registered:
            _registered[name] = _register(torch, name)
    return getattr(torch.ops.weft, name).default


def call_attend(torch, arguments):
    """torch.ops.weft.attend. Where only autograd looks at the call, it is computed below autograd, with a node of its
    own where gradients are asked for: the dispatcher's way through Python takes longer than a short attention."""
    query, key, value, key_keep, seed, distances, *settings = arguments
    general = query.dtype is torch.float64
    operator = attend_operator(general)
    if not _only_autograd_looks(torch, query, key, value):
        return operator(*arguments)
    wanted = query.requires_grad or key.requires_grad or value.requires_grad
    if (wanted or (distances is not None and distances.requires_grad)) and torch.is_grad_enabled():
        return _node(torch, general).apply(query, key, value, key_keep, seed, distances, settings)
    with torch._C._AutoDispatchBelowAutograd():
        return operator(*arguments)


def _only_autograd_looks(torch, query, key, value):
    """False under vmap and other transforms, modes, autocast and torch.jit.trace, and for subclasses of Tensor."""
    kinds = _kinds(torch)
    native = torch._C
    return (
        type(query) in kinds
        and type(key) in kinds
        and type(value) in kinds
        and query.is_cpu
        and not native._is_any_autocast_enabled()
        and native._functorch.peek_interpreter_stack() is None
        and native._len_torch_dispatch_stack() == 0
        and native._len_torch_function_stack() == 0
        and native._get_tracing_state() is None
    )


@functools.lru_cache(maxsize=None)
def _kinds(torch):
    return frozenset((torch.Tensor, torch.nn.Parameter))


@functools.lru_cache(maxsize=None)
def _node(torch, general):
    operator = attend_operator(general)
    backward_operator = getattr(torch.ops.weft, f"{operator._opname}_backward").default
    below_autograd = torch._C._AutoDispatchBelowAutograd

    class Attend(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            arguments = *inputs[:6], *inputs[6]
            with below_autograd():
                output = operator(*arguments)
            _save(ctx, arguments, output)
            return output

        @staticmethod
        def backward(ctx, gradient, _):
            return _backward(backward_operator, ctx, gradient, _)[:7]

    return Attend


def ready_operator(torch, general):
    """The same for a function that is traced."""
    _make_ready(general)
    return torch.ops.weft.attend_general.default if general else torch.ops.weft.attend.default


def _make_ready(general):
    attend_operator(general)
    return True


_make_ready._dynamo_marked_constant = True  # Dynamo calls it while it traces, and traces nothing of it


def _register(torch, name):
    backward = getattr(torch.ops.weft, f"{name}_backward").default
    torch.library.register_fake(f"weft::{name}", functools.partial(_fake_attend, torch))
    torch.library.register_fake(f"weft::{name}_backward", functools.partial(_fake_backward, torch))
    torch.library.register_autograd(f"weft::{name}", functools.partial(_backward, backward), setup_context=_save)
    torch.library.register_autograd(f"weft::{name}_backward", _refuse_second_derivative, setup_context=_save_nothing)
    forward = getattr(torch.ops.weft, name).default
    torch.library.register_vmap(f"weft::{name}", functools.partial(_vmap_attend, forward))
    torch.library.register_vmap(f"weft::{name}_backward", functools.partial(_vmap_backward, backward))
    library = torch.library.Library("weft", "IMPL")
    if name == "attend":  # float64 stays what it is under autocast, as in PyTorch's own operators
        library.impl("attend", functools.partial(_autocast, torch), "AutocastCPU")
    return library


def _empty_heads(tensor, heads, rows, columns):
    """[B, H, N, C] that is [B, N, H, C] in memory, as the operators make it."""
    return tensor.new_empty(tensor.shape[0], rows, heads, columns).transpose(1, 2)


def _fake_attend(torch, query, key, value, *rest):
    batch, heads, rows, _ = query.shape
    out = _empty_heads(query, heads, rows, value.shape[3])
    sums = torch.float64 if query.dtype == torch.float64 else torch.float32
    return out, query.new_empty(batch, heads, rows, dtype=sums)


def _fake_backward(torch, output_gradient, query, key, value, *rest):
    distances = rest[4]  # behind output, log_sum_exp, key_keep and seed
    gradients = [_empty_heads(tensor, *tensor.shape[1:]) for tensor in (query, key, value)]
    table = query.new_empty(0, dtype=torch.float32) if distances is None else torch.empty_like(distances)
    return (*gradients, table)


def _save(ctx, inputs, output):
    query, key, value, key_keep, seed, distances, *ctx.settings = inputs
    out, log_sum_exp = output
    ctx.save_for_backward(query, key, value, out, log_sum_exp, key_keep, seed, distances)
    ctx.kept = living_layout(ctx.settings[0])  # as long as the graph needs it
    ctx.mark_non_differentiable(log_sum_exp)
    ctx.set_materialize_grads(False)


def _backward(operator, ctx, gradient, _):
    inputs = 12
    if gradient is None:
        return (None,) * inputs
    if ctx.kept is not None:
        ctx.kept.keep()
    query, key, value, out, log_sum_exp, key_keep, seed, distances = ctx.saved_tensors
    query_gradient, key_gradient, value_gradient, table_gradient = operator(
        gradient, query, key, value, out, log_sum_exp, key_keep, seed, distances, *ctx.settings
    )
    table_gradient = table_gradient if distances is not None else None
    return query_gradient, key_gradient, value_gradient, None, None, table_gradient, *(None,) * len(ctx.settings)


def _save_nothing(ctx, inputs, output):
    pass


def _refuse_second_derivative(ctx, *gradients):
    raise UnsupportedError(
        "second derivatives of attend are not there: a gradient of it was differentiated",
        "leave create_graph=True out, or compute this part with scaled_dot_product_attention",
    )


def _autocast(torch, query, key, value, *rest):
    dtype = torch.get_autocast_dtype("cpu")
    key_set = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
    with torch._C._ExcludeDispatchKeyGuard(key_set):
        parts = [part.to(dtype) if part.is_floating_point() else part for part in (query, key, value)]
        return torch.ops.weft.attend.default(*parts, *rest)


def _folded(tensor, dimension, size):
    """The mapped dimension joined to the batch, which is the first of the others."""
    if tensor is None:
        return None
    tensor = tensor.expand(size, *tensor.shape) if dimension is None else tensor.movedim(dimension, 0)
    return tensor.flatten(0, 1)


def _refuse_mapped_parts(dimensions):
    if any(dimension is not None for dimension in dimensions):
        raise UnsupportedError("vmap of attend over its seed or its table of distances is not there; map over queries")


def _vmap_attend(operator, info, in_dims, *arguments):
    _refuse_mapped_parts(in_dims[4:6])
    size = info.batch_size
    parts = [_folded(part, dimension, size) for part, dimension in zip(arguments[:4], in_dims[:4])]
    out, log_sum_exp = operator(*parts, *arguments[4:])
    return (out.unflatten(0, (size, -1)), log_sum_exp.unflatten(0, (size, -1))), (0, 0)


def _vmap_backward(operator, info, in_dims, *arguments):
    _refuse_mapped_parts(in_dims[7:9])
    if arguments[8] is not None:
        raise UnsupportedError("the gradient of a table of distances under vmap is not there; loop over the batch")
    size = info.batch_size
    parts = [_folded(part, dimension, size) for part, dimension in zip(arguments[:7], in_dims[:7])]
    query, key, value, table = operator(*parts, *arguments[7:])
    return tuple(part.unflatten(0, (size, -1)) for part in (query, key, value)) + (table,), (0, 0, 0, None)
