# SPDX-License-Identifier: Apache-2.0
"""What Weft would compute wrongly, or never be asked for: what a layer is passed, and what a model is. Every entry is one
trap, and what is said of it."""
import inspect

import torch
from transformers.utils import output_capturing

from .._errors import UnsupportedError

HINT = 'load the model with attn_implementation="eager" for this'
_OPEN = (
    "weft_attention.open(DIRECTORY), with the package weft-attention-runtime, reads Longformer, BigBird and DeBERTa "
    "itself, as the program `weft` does"
)

# Arguments of transformers' attention functions, by name.
ARGUMENTS = {
    "cache": "has a paged cache, which Weft does not read",
    "s_aux": "has attention sinks (s_aux), which Weft would leave out",
    "softcap": "caps its scores (softcap), which Weft would leave out",
    "head_mask": "was given a head_mask, which Weft would leave out",
    "output_attentions": "was asked for its probabilities (output_attentions), which Weft never makes",
}


def refuse_arguments(module, given):
    for name, reason in ARGUMENTS.items():
        found = given.get(name)
        if found is not None and found is not False:
            raise UnsupportedError(f"{type(module).__name__} {reason}", HINT)
    if attentions_are_collected():
        raise UnsupportedError(f"{type(module).__name__} {ARGUMENTS['output_attentions']}", HINT)


def attentions_are_collected():
    """Whether transformers gathers probabilities by hooks, which would find none and return an empty tuple."""
    if torch.compiler.is_compiling():
        return False
    collected = output_capturing._active_collector.get()
    return collected is not None and any("attentions" in name for name in collected)


def _never_asks(part):
    if not part._can_set_attn_implementation():
        return "computes attention without asking the interface of transformers, so that Weft would not be used"
    return None


def _caps_scores(part):
    for setting in ("attn_logit_softcapping", "attn_logit_softcap"):
        if getattr(part.config, setting, None) is not None:
            return f"caps its scores ({setting}), which Weft would leave out"
    return None


def _has_sinks(part):
    if any(name.rsplit(".", 1)[-1] == "sinks" for name, _ in part.named_parameters()):
        return "has attention sinks, which Weft would leave out"
    return None


# What a model is, by name: a function gives the reason, or None.
MODELS = {"never asks": _never_asks, "caps scores": _caps_scores, "sinks": _has_sinks}


def refuse_model(part):
    for find in MODELS.values():
        reason = find(part)
        if reason is not None:
            raise UnsupportedError(f"{type(part).__name__} {reason}", _OPEN if find is _never_asks else HINT)


def asks_the_interface(kind):
    """Whether a class of attention modules has its scores computed by transformers' interface."""
    try:
        return "get_interface(" in inspect.getsource(kind.forward)
    except (OSError, TypeError):
        return False
