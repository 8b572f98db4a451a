# SPDX-License-Identifier: Apache-2.0
"""train: what `weft train` does, by the same call of the library."""
import json
import os
import threading

from ._native import load_runtime
from ._settings import plain_json

# A run draws from the process's generators and has its threads: a second one waits.
_one_run = threading.Lock()


def _begin_anew():
    global _one_run
    _one_run = threading.Lock()


os.register_at_fork(after_in_child=_begin_anew)


def train(out, *, task=None, config=None, tokenizer=None, seeds=1, resume=False, **fields):
    """Trains a model in a run directory, as `weft train` does: the same fields, the same files, the same bits.

    What will be computed, and how far it has come, is said on standard error. Ctrl-C ends the run after the step that it
    is in, saves it, and raises KeyboardInterrupt; resume=True goes on. Needs the package weft-attention-runtime.

    Args:
        out: the run directory to make, or with resume=True to go on with.
        task: "lm" (the default), "mlm", "classify", "multilabel", "tag", "answer", "choose", "embed", "rerank",
            "hotpotqa", "nq", "triviaqa", "wikihop", "translate", "summarize" or "denoise".
        config: a JSON file with fields, under those that are given here.
        tokenizer: of a new language model; without one the 256 bytes are its vocabulary.
        seeds: so many runs, with the field `seed` and those that follow it, each in a folder of `out`.
        resume: goes on with the run in `out`.
        fields: the flags of the command with underscores, by their full names: train_text="books/", steps=1000,
            num_hidden_layers=4, hidden_size=256, num_attention_heads=4, attention="causal & window(256)".

    Returns:
        What the command prints with --json: a dict with run, steps, tokens, loss, evaluation and so on; of several seeds
        {"runs", "figures"}.

    Raises:
        WeftError: a field, a file, or what was found in them; the run has a checkpoint of the last step that was saved.
    """
    asked = {"out": os.fspath(out), "task": task, "config": config, "tokenizer": tokenizer, "seeds": seeds, "resume": resume}
    given = json.loads(plain_json(fields))
    runtime = load_runtime("weft_attention.train")
    with _one_run:
        return json.loads(runtime.train(plain_json({**asked, "fields": given})))
