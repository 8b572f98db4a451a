# SPDX-License-Identifier: Apache-2.0
"""The two functions that transformers calls: one makes the mask of a forward pass, one computes a layer's attention."""
import dataclasses

import torch
from transformers.masking_utils import causal_mask_function, prepare_padding_mask

from .._attend import attend_text
from .._errors import UnsupportedError
from ._biases import distances_of
from ._mask import Mask
from ._reading import Asked, Edges, read, read_tensor
from ._refusals import HINT, refuse_arguments
from ._tracing import traced_expression


def make_mask(
    *,
    batch_size,
    q_length,
    kv_length,
    q_offset=0,
    kv_offset=0,
    mask_function=None,
    attention_mask=None,
    use_vmap=False,
    device="cpu",
    **others,
):
    """The mask function of transformers: reads what the model asks for."""
    if was_made_before(attention_mask):
        return attention_mask
    mask_function = causal_mask_function if mask_function is None else mask_function
    keep = prepare_padding_mask(attention_mask, kv_length, kv_offset)
    if keep is not None:
        keep = keep[:, kv_offset : kv_offset + kv_length] if keep.shape[1] != kv_length else keep
        keep = keep.to(torch.bool)
    asked = Asked(mask_function, batch_size, q_length, kv_length, q_offset, kv_offset, use_vmap, device)
    if q_length == 1:
        return one_query(asked, keep)
    if torch.compiler.is_compiling() and not isinstance(q_offset, torch.Tensor) and is_plain(use_vmap, others):
        text = traced_expression(mask_function)
        if text is not None:
            return Mask(Edges([text]), keep, first_query(asked), asked.shape)
    return _read_mask(asked, keep)


def was_made_before(attention_mask):
    """generate() makes the mask of a static cache, and hands it to the model as its attention_mask."""
    return isinstance(attention_mask, Mask)


def is_plain(use_vmap, others):
    """Whether the mask function closes over no tensor, as those of packed texts, images and chunks do: then transformers
    may leave the mask out. Dynamo cannot make a constant of the others."""
    may_be_left_out = others.get("allow_is_causal_skip") or others.get("allow_is_bidirectional_skip")
    chunks = getattr(others.get("config"), "attention_chunk_size", None)
    return bool(may_be_left_out) and not use_vmap and chunks is None


# Numbers are read: a graph of torch.compile ends here.
@torch._dynamo.disable
def _read_mask(asked, keep):
    asked = dataclasses.replace(asked, offset=number_of(asked.offset))
    edges = read(asked)
    if keep is not None and bool(keep.all()):
        keep = None
    return Mask(edges, keep, first_query(asked), asked.shape)


def number_of(offset):
    """The position of the first query, which is a tensor in a static cache."""
    return int(offset)


def one_query(asked, keep):
    """A token that is decoded: its row of the mask is its padding, so that no expression names the position."""
    row = asked.slab(0, 1)[:, 0, 0]
    keep = row if keep is None else row & keep
    return Mask(Edges(["full"]), keep.expand(asked.batch, asked.keys), first_query(asked), asked.shape)


def first_query(asked):
    """Its position among the keys that there are: a sliding cache has lost those before."""
    return asked.offset - asked.key_offset


def weft_attention_forward(
    module,
    query,
    key,
    value,
    attention_mask,
    *,
    dropout=0.0,
    scaling=None,
    is_causal=None,
    position_bias=None,
    **kwargs,
):
    """The attention function of transformers: [B, H, Q, D] and so on -> [B, Q, H, C], None."""
    refuse_arguments(module, kwargs)
    mask = _mask_of(module, query, key, attention_mask, is_causal)
    pattern = pattern_of(module)
    # One row of padding says all: its position, a tensor in a static cache, is not read.
    is_a_row = query.shape[2] == 1 and pattern is None
    texts, layer = mask.edges.rows, 0
    if pattern is not None:
        texts, layer = _with_pattern(mask, pattern), getattr(module, "layer_idx", None) or 0
    settings = {
        "scale": scaling,
        "dropout_p": dropout,
        "layer": layer,
        "query_offset": 0 if is_a_row else mask.offset,
        "distances": distances_of(module, position_bias, mask, is_a_row),
    }
    if len(texts) == 1:
        out, _ = attend_text(query, key, value, texts[0], key_keep=mask.keep, **settings)
    else:
        out = _by_rows(query, key, value, texts, mask.keep, settings)
    note_path(module, texts)
    return out.transpose(1, 2), None


def _by_rows(query, key, value, texts, keep, settings):
    """Texts of the batch that look differently: one call for those that look alike."""
    rows_of = {}
    for row, text in enumerate(texts):
        rows_of.setdefault(text, []).append(row)
    parts, order = [], []
    for text, rows in rows_of.items():
        chosen = torch.tensor(rows)
        part = (tensor[chosen] for tensor in (query, key, value))
        parts.append(attend_text(*part, text, key_keep=None if keep is None else keep[chosen], **settings)[0])
        order += rows
    return torch.cat(parts)[torch.tensor(order).argsort()]


def _with_pattern(mask, pattern):
    if mask.edges.kept:
        raise UnsupportedError(
            f"a pattern cannot be joined to a mask that is no expression (packed texts, images between words): {pattern}",
            "call use(model) without a pattern for such texts",
        )
    own = mask.edges.rows[0]
    return [pattern if own == "full" else f"({own}) & ({pattern})"]


def pattern_of(module):
    """The pattern that use() gave to this layer. A model that was saved with one and not given it would compute
    something else."""
    found = getattr(module, "_weft_pattern", None)
    if found is None and getattr(getattr(module, "config", None), "weft_attention", None) is not None:
        raise UnsupportedError(
            f"the config of this {type(module).__name__} names the pattern {module.config.weft_attention!r}, which its "
            "layers have not been given",
            "call weft_attention.transformers.use(model)",
        )
    return found or None


def note_path(module, texts):
    if not torch.compiler.is_compiling():
        module.__dict__["_weft_path"] = texts[0] if len(texts) == 1 else tuple(texts)


def _mask_of(module, query, key, mask, is_causal):
    queries, keys = query.shape[2], key.shape[2]
    if mask is None:
        causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
        text = "causal" if causal and queries > 1 else "full"
        return Mask(Edges([text]), None, 0, (query.shape[0], 1, queries, keys), positions_are_known=queries == keys)
    if isinstance(mask, Mask):
        if mask.shape[3] != keys or mask.shape[2] != queries:
            raise UnsupportedError(
                f"{type(module).__name__} has {queries} queries and {keys} keys, but its mask is of {mask.shape[2]} and "
                f"{mask.shape[3]}",
                HINT,
            )
        return mask
    if not isinstance(mask, torch.Tensor) or mask.ndim != 4 or mask.shape[1] != 1:
        found = list(mask.shape) if hasattr(mask, "shape") else type(mask).__name__
        raise UnsupportedError(f"{type(module).__name__} was given a mask of {found}, expected [batch, 1, Q, K]", HINT)
    return _mask_of_tensor(module, mask[:, :, :, :keys], queries, keys)


@torch._dynamo.disable
def _mask_of_tensor(module, mask, queries, keys):
    if mask.dtype != torch.bool:
        lowest = torch.finfo(mask.dtype).min
        allowed = mask == 0
        if not bool((allowed | (mask <= lowest)).all()):
            raise UnsupportedError(f"{type(module).__name__} adds numbers to its scores by its mask", HINT)
        mask = allowed
    shape, known = (mask.shape[0], 1, queries, keys), queries == keys
    if queries == 1:
        return Mask(Edges(["full"]), mask[:, 0, 0], keys - 1, shape, positions_are_known=known)
    edges = read_tensor(mask, queries, keys)
    return Mask(edges, None, max(keys - queries, 0), shape, positions_are_known=known)
