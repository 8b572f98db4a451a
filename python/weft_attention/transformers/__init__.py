# SPDX-License-Identifier: Apache-2.0
"""Weft's attention in models of `transformers`.

    >>> import weft_attention.transformers as weft
    >>> weft.register()
    >>> model = AutoModel.from_pretrained(directory, attn_implementation="weft")

or, for a model that is there already, and with a pattern that removes edges:

    >>> weft.use(model)
    >>> weft.use(model, "window(256) | global(1)")

Whatever mask a model asks for is computed exactly: causal, windows, chunks, packed texts, images between words, padding.
What Weft would compute wrongly is refused. `paths(model)` says how each layer was computed in its last call.
"""

from ._models import paths, register, use

__all__ = ["paths", "register", "use"]
