# SPDX-License-Identifier: Apache-2.0
"""profile and propose: what `weft profile` and `weft propose` do, by the same calls of the library."""
import json
import os

from ._native import load_runtime
from ._settings import plain_json


def profile(model=None, *, out, **fields):
    """Sums where the attention of a model goes over a set of texts, as `weft profile` does: the same fields, the same
    file, byte for byte.

    Texts are files, as for `train`. How far it has come is said on standard error. Ctrl-C saves what was done beside
    `out` and raises KeyboardInterrupt; resume=True goes on. Needs the package weft-attention-runtime.

    Args:
        model: a run, a directory of Hugging Face, or "organisation/name[@revision]" of the Hub; None with `merge`.
        out: the file to write, in the format safetensors, for `propose` and for the program.
        fields: the flags of the command with underscores. Texts: text (files and folders, for a decoder or an encoder),
            data with text_field and pair_field (records), source and target (for an encoder-decoder), context,
            max_bytes, examples, batch_tokens. What is summed: tile, edges, dtype. Pictures of all heads: svg, png.
            Parts: shard ("0/4" to "3/4"), merge (the files of all shards, joined into `out`), resume.

    Returns:
        What the command prints with --json: a dict with out, model, texts, tokens, dtype, shard, seconds, and parts, of
        each layer's attention its name, expression, rows, mean entropy of a row in nats, or the reason why it has no
        sums.

    Raises:
        WeftError: the model, a field, a file, or texts of another form than the model takes.
    """
    asked = plain_json({**fields, "out": out})
    return json.loads(load_runtime("weft_attention.profile").profile("" if model is None else os.fspath(model), asked))


def propose(profile, *, out=None, **fields):
    """Short patterns that hold what the heads of a profile look at, as `weft propose` finds them: for each layer the
    expression that is predicted to take the least time. Needs the package weft-attention-runtime.

    Args:
        profile: a file that `profile` or `weft profile` wrote.
        out: a JSON file to write, which the program takes as --attention @FILE.
        fields: the flags of the command with underscores: mass (the share of the probability of every head that its
            pattern keeps, 0.95), slack, length (of the text that the time is predicted for), attend ("self", "cross" or
            "both"), rewire, gap, model (where it is not the directory that was profiled), rates (a file of
            `weft bench calibrate`), held_out (text that the model did not learn, whose loss is computed with its own
            attention and with the proposed one), max_bytes (of held_out).

    Returns:
        What the command prints with --json: a dict with kept_mass, cost_share, held_out, parts (of each layer what its
        heads keep and cost), and the expressions of all layers, as a list of str: attention of a model with one stack,
        encoder_attention, decoder_attention and cross_attention of an encoder-decoder. `Pattern`, `attend` and
        `weft_attention.transformers.use` take each of them; one that names files of the model is
        `Pattern(text, directory=model)`.

    Raises:
        WeftError: the file is no profile, is one of a part of its texts, or has a mechanism that is no pattern; or a
            field is not right.
    """
    asked = plain_json({**fields, "out": out})
    return json.loads(load_runtime("weft_attention.propose").propose(os.fspath(profile), asked))
