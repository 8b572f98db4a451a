# SPDX-License-Identifier: Apache-2.0
"""Training steps of whole models, and tokens that a language model writes, of transformers and of Weft on the same directories with random weights.

A step is the masked-LM loss over all positions and its gradients, weights in float32 and products in bfloat16, without an optimiser; the fastest of as
many turns for both. BigBird of transformers does not run so under autocast: its weights are bfloat16 then, which is faster and takes less, and the line
says so. Weft's comes from `weft bench model --train`, in a process of its own, so that each has the memory for itself; memory is the most that tensors
had, weights among it."""
import shutil
import tempfile

import torch

from . import models, targets, timing

WRITTEN = 64
TURNS = 7
SMALL_DECODER = {"n_layer": 2, "n_embd": 64, "n_head": 2}


def big_bird(transformers, sizes):
    return transformers.BigBirdForMaskedLM(transformers.BigBirdConfig(attention_type="block_sparse", vocab_size=50358, **sizes))


def longformer(transformers, sizes):
    config = transformers.LongformerConfig(attention_window=512, max_position_embeddings=4098, vocab_size=50265, type_vocab_size=1, **sizes)
    return transformers.LongformerForMaskedLM(config)


MODELS = {"big_bird": big_bird, "longformer": longformer}


def run(device, say, is_small):
    """Two lines a model and one of a decoder; where transformers or the package are not there, one line says so."""
    try:
        import transformers
        import weft_attention
        import weft_attention_runtime  # noqa: F401: it has the program
    except ImportError as error:
        say({"part": "steps", "verdict": f"not run: {error}"})
        return
    length = 1024 if is_small else 4096
    for name, make in MODELS.items():
        attempt(say, {"part": "steps", "model": name}, lambda make=make: step(transformers, make, device, length, is_small))
    attempt(say, {"part": "steps", "model": "gpt2"}, lambda: writing(transformers, weft_attention, device, 256 if is_small else 1024 - WRITTEN, is_small))


def attempt(say, line, work):
    try:
        say({**line, **work()})
    except Exception as error:  # noqa: BLE001: whatever it is, the next one is tried
        say({**line, "verdict": f"not run: {type(error).__name__}: {str(error)[:300]}"})


def step(transformers, make, device, length, is_small):
    torch.manual_seed(3)
    model = make(transformers, models.SMALL if is_small else {})
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        turns = 1 if is_small else TURNS
        theirs = their_step(model, device, length, turns)
        del model
        if device.type == "cuda":
            torch.cuda.empty_cache()
        milliseconds, memory = models.ours(folder, length, device, turns, "--train")
    return judged(theirs, {"step": milliseconds, "bytes": memory}, length)


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


def writing(transformers, weft_attention, device, prompt, is_small):
    """64 tokens behind a prompt, the likeliest each time, in float32, so that both write the same."""
    torch.manual_seed(4)
    # As many as the tokeniser has.
    config = transformers.GPT2Config(vocab_size=321, bos_token_id=None, eos_token_id=None, **(SMALL_DECODER if is_small else {}))
    model = transformers.GPT2LMHeadModel(config).to(device).eval()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        shutil.copytree(models.TOKENIZERS / "roberta", folder, dirs_exist_ok=True)
        opened = weft_attention.open(folder, dtype="float32", **({"device": "cuda"} if device.type == "cuda" else {}))
        text = " the" * prompt
        settings = {"max_new_tokens": WRITTEN, "do_sample": False}
        ours = timing.milliseconds(lambda: opened.generate(text, **settings), device, 3, replays=False)
        found = opened.generate(text, **settings)[0]["generated_text"]
        reader = transformers.AutoTokenizer.from_pretrained(folder)
    ids = torch.tensor([reader(text)["input_ids"]], device=device)
    theirs = timing.milliseconds(lambda: model.generate(ids, min_new_tokens=WRITTEN, pad_token_id=0, **settings), device, 3, replays=False)
    right = reader.decode(model.generate(ids, min_new_tokens=WRITTEN, pad_token_id=0, **settings)[0, ids.shape[1] :])
    wrong = None if found == right else f"it writes {found[:40]!r}, transformers {right[:40]!r}"
    return {"prompt": ids.shape[1], "written": WRITTEN, "milliseconds_a_token": ours / WRITTEN, "transformers_milliseconds_a_token": theirs / WRITTEN,
            "ratio": theirs / ours, "wrong": wrong}  # fmt: skip
