# SPDX-License-Identifier: Apache-2.0
"""Training steps of whole models, and tokens that a language model writes, of transformers and of Weft on the same directories with random weights.

A step is the masked-LM loss over all positions and its gradients, weights in float32 and products in bfloat16, without an optimiser; the fastest of as
many turns for both. BigBird of transformers does not run so under autocast: its weights are bfloat16 then, which is faster and takes less, and the line
says so. Weft's comes from `weft bench model --train`, in a process of its own, so that each has the memory for itself; memory is the most that tensors
had, weights among it."""
import shutil
import tempfile

import torch

from . import attempts, models, targets, timing

WRITTEN = 64
SETTINGS = {"max_new_tokens": WRITTEN, "do_sample": False}
TURNS = 7
SMALL_DECODER = {"n_layer": 2, "n_embd": 64, "n_head": 2}


def big_bird(transformers, sizes):
    return transformers.BigBirdForMaskedLM(transformers.BigBirdConfig(attention_type="block_sparse", vocab_size=50358, **sizes))


def longformer(transformers, sizes):
    config = transformers.LongformerConfig(attention_window=512, max_position_embeddings=4098, vocab_size=50265, type_vocab_size=1, **sizes)
    return transformers.LongformerForMaskedLM(config)


MODELS = {"big_bird": big_bird, "longformer": longformer}


def run(device, say, is_small):
    """A line a model, and one of a decoder; where transformers or the package are not there, the line says so."""
    length = 1024 if is_small else 4096
    for name, make in MODELS.items():
        attempt(say, name, lambda make=make: step(make, device, length, is_small))
    attempt(say, "gpt2", lambda: writing(device, 256 if is_small else 1024 - WRITTEN, is_small))


def attempt(say, name, work):
    def where_installed():
        why = attempts.absent("weft_attention", "weft_attention_runtime", "transformers")
        return {"verdict": why} if why else work()

    attempts.attempt(say, {"part": "steps", "model": name}, where_installed)


def step(make, device, length, is_small):
    torch.manual_seed(3)
    with tempfile.TemporaryDirectory() as folder:
        turns = 1 if is_small else TURNS
        model, why = attempts.of_rival(lambda: saved(make, models.SMALL if is_small else {}, folder))
        if why:
            return {"verdict": why}
        theirs, why = attempts.of_rival(lambda: their_step(model, device, length, turns))
        del model
        if device.type == "cuda":
            attempts.of_rival(torch.cuda.empty_cache)  # says once more what CUDA said of theirs
        milliseconds, memory = models.ours(folder, length, device, turns, "--train")
    ours = {"step": milliseconds, "bytes": memory}
    return {"length": length, **ours, "verdict": why} if why else judged(theirs, ours, length)


def saved(make, sizes, folder):
    import transformers

    model = make(transformers, sizes)
    model.save_pretrained(folder)
    return model


def judged(theirs, ours, length):
    """Ratios of times and of memory, and what became of both targets."""
    ratio, less = theirs["step"] / ours["step"], theirs["bytes"] / max(ours["bytes"], 1)
    memory = targets.verdict(less, targets.TRAINING_MEMORY, None) if theirs["bytes"] else "not run: memory is counted on a GPU"
    return {"length": length, "step": ours["step"], "transformers_step": theirs["step"], "transformers_weights": theirs["weights"], "ratio": ratio,
            "verdict": targets.verdict(ratio, targets.TRAINING_STEP, None), "bytes": ours["bytes"], "transformers_bytes": theirs["bytes"],
            "memory_ratio": less, "memory_verdict": memory}  # fmt: skip


def their_step(model, device, length, turns):
    """{"step" in milliseconds, "bytes" at most, "weights": their dtype}."""
    model, weights = model.to(device).train(), "float32"
    ids = torch.randint(110, 1000, (1, length), device=device)

    def once():
        with torch.autocast(device.type, torch.bfloat16, enabled=weights == "float32"):
            loss = model(ids, labels=ids).loss
        loss.backward()
        model.zero_grad()

    try:
        once()
    except RuntimeError as error:  # BigBird writes products in bfloat16 into tensors of float32
        if "dtype" not in str(error):
            raise
        model, weights = model.to(torch.bfloat16), "bfloat16"
        once()
    before = torch.cuda.memory_allocated() if device.type == "cuda" else 0
    return {"step": timing.fastest(once, device, turns), "bytes": before + timing.peak(once, device), "weights": weights}


def writing(device, prompt, is_small):
    """64 tokens behind a prompt, the likeliest each time, in float32, so that both write the same."""
    import weft_attention

    text = " the" * prompt
    with tempfile.TemporaryDirectory() as folder:
        made, why = attempts.of_rival(lambda: decoder(folder, device, is_small))
        if why:
            return {"verdict": why}
        opened = weft_attention.open(folder, dtype="float32", **({"device": "cuda"} if device.type == "cuda" else {}))
        ours = timing.milliseconds(lambda: opened.generate(text, **SETTINGS), device, 3, replays=False)
        found = opened.generate(text, **SETTINGS)[0]["generated_text"]
    line = {"written": WRITTEN, "milliseconds_a_token": ours / WRITTEN}
    theirs, why = attempts.of_rival(lambda: their_writing(*made, text, device))
    if why:
        return {**line, "verdict": why}
    tokens, milliseconds, right = theirs
    wrong = None if found == right else f"it writes {found[:40]!r}, transformers {right[:40]!r}"
    return {"prompt": tokens, **line, "transformers_milliseconds_a_token": milliseconds / WRITTEN, "ratio": milliseconds / ours, "wrong": wrong}


def decoder(folder, device, is_small):
    """(a GPT-2, its tokeniser), both in the folder."""
    import transformers

    torch.manual_seed(4)
    # As many as the tokeniser has.
    config = transformers.GPT2Config(vocab_size=321, bos_token_id=None, eos_token_id=None, **(SMALL_DECODER if is_small else {}))
    model = transformers.GPT2LMHeadModel(config).to(device).eval()
    model.save_pretrained(folder)
    shutil.copytree(models.TOKENIZERS / "roberta", folder, dirs_exist_ok=True)
    return model, transformers.AutoTokenizer.from_pretrained(folder)


def their_writing(model, reader, text, device):
    """(tokens of the text, milliseconds, what it writes)."""
    ids = torch.tensor([reader(text)["input_ids"]], device=device)

    def write():
        return model.generate(ids, min_new_tokens=WRITTEN, pad_token_id=0, **SETTINGS)

    milliseconds = timing.milliseconds(write, device, 3, replays=False)
    return ids.shape[1], milliseconds, reader.decode(write()[0, ids.shape[1] :])
