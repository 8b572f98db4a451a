# SPDX-License-Identifier: Apache-2.0
"""register, use and paths: the names that transformers knows, and what is checked of a model before it computes with
Weft."""
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel

from .._errors import ArgumentError, UnsupportedError
from .._operators import attend_operator
from .._pattern import Pattern
from ._biases import NAME, give_tables
from ._function import make_mask, weft_attention_forward
from ._refusals import refuse_model

# Parts of the names of modules whose queries look at another text.
_CROSSING = ("cross", "encoder_attn", "encdec")


def register():
    """Makes attn_implementation="weft" known to transformers: the attention, and with it the masks. May be called
    again. Raises UnsupportedError where PyTorch is missing or too old."""
    attend_operator()
    AttentionInterface.register(NAME, weft_attention_forward)
    AttentionMaskInterface.register(NAME, make_mask)


def use(model, pattern=None):
    """Lets a model of transformers compute its attention with Weft, and returns it.

    Without a pattern the numbers are those of sdpa, to rounding. A pattern removes edges: what the model's mask allows
    and the pattern has too is left, in self-attention only. `layer` in the expression is the number of the layer. The
    pattern is saved in the config as `weft_attention`; after loading, `use(model)` gives it to the layers again.

    Args:
        model: a `PreTrainedModel`, on the CPU.
        pattern: an expression or a `Pattern`; None for the model's own attention, or the one that its config names.

    Raises:
        UnsupportedError: the model computes attention without asking the interface of transformers, or with terms that
            Weft would leave out: it would be wrong, or as slow as before.
        ArgumentError: the model is none of transformers, or the pattern names `input`.
        PatternError: the expression does not parse.
    """
    register()
    if pattern is None:
        pattern = getattr(model.config, "weft_attention", None)
    chosen = None if pattern is None else _checked(pattern)
    for part in _submodels(model):
        refuse_model(part)
    give_tables(model, _is_crossing)
    model.set_attn_implementation(NAME)
    check_implementation(model)
    given = 0
    for name, module in model.named_modules():
        if "attention" in type(module).__name__.lower():
            crosses = _is_crossing(name)
            module.__dict__["_weft_pattern"] = "" if crosses or chosen is None else chosen
            given += not crosses
    if chosen is not None and not given:
        raise UnsupportedError(f"{type(model).__name__} has no self-attention that a pattern could be given to")
    if chosen is not None:
        model.config.weft_attention = chosen
    return model


def check_implementation(model):
    """transformers leaves a model as it is, with a warning, where it cannot be set."""
    for config in _configs(model):
        if config._attn_implementation != NAME:
            raise UnsupportedError(f"{type(model).__name__} keeps attn_implementation={config._attn_implementation!r}")


def _is_crossing(name):
    return any(part in name.lower() for part in _CROSSING)


def paths(model):
    """How each attention was computed in its last call outside of torch.compile: the expression, or `kept:...` for the
    blocks of a mask that is none, or a tuple where the texts of a batch differ. Always the fused kernel."""
    found = {name: module.__dict__.get("_weft_path") for name, module in model.named_modules()}
    return {name: path for name, path in found.items() if path is not None}


def _checked(pattern):
    found = Pattern(pattern)
    if found.needs_input:
        raise ArgumentError(f"{found} names input, whose positions a model does not give; write them: global(at=[0, 17])")
    return found.expression


def _submodels(model):
    if not isinstance(model, PreTrainedModel):
        raise ArgumentError(f"use() takes a model of transformers, found {type(model).__name__}")
    return [module for module in model.modules() if isinstance(module, PreTrainedModel)]


def _configs(model):
    return {id(part.config): part.config for part in _submodels(model)}.values()
