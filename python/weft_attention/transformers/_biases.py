# SPDX-License-Identifier: Apache-2.0
"""T5's bias of positions as a table: a score of each distance from query to key, which is the same from some distance on.
A table has a few hundred numbers a head, where the bias of each pair would be as large as the scores."""
import functools
import inspect

import torch

from .._errors import UnsupportedError
from ._refusals import HINT, asks_the_interface

NAME = "weft"
_ASKED = ["self", "query_length", "key_length", "device", "past_seen_tokens"]
_FARTHEST = 1 << 16


def give_tables(model, is_crossing):
    """Lets the layers of a model that have such a bias make it as a table. `is_crossing(name)` says which modules look
    at another text; those of T5 add zeros. Raises UnsupportedError for a bias that is no function of the distance."""
    kinds = set()
    for name, module in model.named_modules():
        if _has_bias(module):
            _check(name, module)
            module.__dict__["compute_bias"] = functools.partial(_bias_or_table, module)
            kinds.add(type(module))
    for name, module in model.named_modules():
        if type(module) in kinds and is_crossing(name) and not _has_bias(module):
            module.__dict__["_weft_bias_is_zero"] = True


def _has_bias(module):
    return any("relative_attention_bias" in name for name in (*module._modules, *module._parameters))


def _bias_or_table(module, query_length, key_length, device=None, past_seen_tokens=0):
    """compute_bias of T5: what Weft's attention is given is the table, whatever the lengths."""
    if module.config._attn_implementation == NAME:
        return table_of(module)
    return type(module).compute_bias(module, query_length, key_length, device=device, past_seen_tokens=past_seen_tokens)


def table_of(module):
    """float32 [H, 1, 2 * far + 1]: entry far + d is the bias where the query is d positions behind the key."""
    far = module.relative_attention_max_distance
    row = type(module).compute_bias(module, 1, 2 * far + 1, past_seen_tokens=far)
    return row[0].flip(-1).float()


def _check(name, module):
    kind = type(module)
    asked = getattr(kind, "compute_bias", None)
    far = getattr(module, "relative_attention_max_distance", None)
    known = asked is not None and list(inspect.signature(asked).parameters) == _ASKED
    if not known or not asks_the_interface(kind) or not isinstance(far, int) or not 0 < far <= _FARTHEST:
        raise UnsupportedError(f"{kind.__name__} ({name}) adds a bias of positions to its scores, which Weft would leave out", HINT)
    seen, keys = far + 8, 2 * far + 16
    with torch.no_grad():
        wanted = asked(module, 2, keys, past_seen_tokens=seen)[0]
        distance = seen + torch.arange(2)[:, None] - torch.arange(keys)
        found = table_of(module)[:, 0, (far + distance).clamp(0, 2 * far)]
    if not torch.equal(found, wanted.float()):
        raise UnsupportedError(
            f"the bias of positions of {kind.__name__} ({name}) is no function of the distance that ends at {far}", HINT
        )


def distances_of(module, bias, mask, is_a_row):
    """(table, its entry of distance 0) as `attend_text` takes them, or None for no bias. is_a_row: the call has one
    query, which it takes for the first position. Raises UnsupportedError for the bias of each pair, which a layer makes
    that use() was not called for."""
    if bias is None or (bias.ndim == 4 and module.__dict__.get("_weft_bias_is_zero")):
        return None
    if bias.ndim != 3:
        raise UnsupportedError(
            f"{type(module).__name__} adds a bias of positions to its scores, which Weft would leave out",
            "call weft_attention.transformers.use(model): it makes a table of T5's bias",
        )
    if not mask.positions_are_known:
        raise UnsupportedError(
            f"{type(module).__name__} was given a mask of {list(mask.shape)} as a tensor, from which the positions of the "
            "queries cannot be told, that its bias needs",
            "give attention_mask as [batch, keys]",
        )
    far, keys = bias.shape[2] // 2, mask.shape[3]
    if not is_a_row:
        return bias, far
    # The position of the query, a tensor in a static cache, becomes a choice of entries, so that no number is read.
    entry = torch.arange(keys, device=bias.device) + (far + mask.offset - (keys - 1))
    return bias[:, :, entry.clamp(0, bias.shape[2] - 1)], keys - 1
