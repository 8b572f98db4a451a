#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Encoder-decoders of every family against the installed transformers.

The fixtures of tests/fixtures/seq2seq are made anew and compared with the stored ones. Then `weft forward` runs directories that transformers wrote: random
weights at odd lengths with padding, tied and untied, with one copy of the shared table and with all of them, in safetensors, .bin and shards; and
transformers loads what `weft init` and `weft convert` wrote without a warning, and computes the same. In bfloat16 both are compared with float32.
"""
import argparse
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers as hf
from safetensors.torch import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests/fixtures"
sys.path[:0] = [str(FIXTURES / "make"), str(ROOT / "tests/parity")]

import encoder_parity as shared  # noqa: E402
import seq2seq  # noqa: E402
import seq2seq_cases  # noqa: E402

SAME_FIXTURE, SMALL, MIDDLE = 1e-5, 2e-5, 1e-4
report = shared.report
# Two encoder and three decoder layers of width 64: weights as large as trained ones, texts longer than every block and window.
MIDDLE_SHAPE = {"vocab_size": 400, "d_model": 64, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4, "decoder_attention_heads": 2,
                "encoder_ffn_dim": 96, "decoder_ffn_dim": 128}
MIDDLE_OWN = {"marian": {"scale_embedding": True, "activation_function": "swish"}, "bart": {}, "pegasus": {"scale_embedding": True, "activation_function": "relu"},
              "bigbird_pegasus": {"block_size": 16, "num_random_blocks": 3}, "led": {"attention_window": [32, 64]}, "mbart": {"scale_embedding": True},
              "m2m_100": {}, "t5": {}, "mt5": {}, "umt5": {}, "longt5": {"local_radius": 31}}
# Heads together are narrower than the model.
MIDDLE_T5 = {"vocab_size": 400, "d_model": 64, "d_kv": 12, "d_ff": 96, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4, "pad_token_id": 1,
             "decoder_start_token_id": 1}


def check_fixtures():
    with tempfile.TemporaryDirectory() as folder:
        for path in seq2seq.make(folder):
            (made, plans), (stored, stored_plans) = shared.read(path), shared.read(FIXTURES / "seq2seq" / path.name)
            assert made.keys() == stored.keys() and plans == stored_plans, path.name
            largest = max((made[name].double() - stored[name].double()).abs().max().item() for name in made)
            report(largest <= SAME_FIXTURE, f"fixture {path.stem}: largest difference {largest:.1e}")


def distance(found, expected, inputs):
    """Largest difference of the logits, and of the encoder's states where the source is no padding."""
    keep = inputs.get("attention_mask", torch.ones_like(inputs["input_ids"])).bool()
    states = (found["encoder_last_hidden_state"].double() - expected["encoder_last_hidden_state"].double())[keep]
    return max((found["logits"].double() - expected["logits"].double()).abs().max().item(), states.abs().max().item())


def outputs_of(model, inputs):
    with torch.no_grad():
        output = model(**inputs)
    return {name: output[name] for name in seq2seq_cases.OUTPUTS}


def flags_of(family, plan="hf-eval"):
    return ["--random", plan or "hf-eval", "--pad-like-hf"] if family == "bigbird_pegasus" else []


def check_small(name):
    largest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        shared.saved(seq2seq_cases.build(name), folder)
        for case in seq2seq_cases.make_cases(name):
            expected, _ = seq2seq_cases.run(seq2seq_cases.build(name), case)
            found = shared.weft_forward(folder, case.inputs, *flags_of(seq2seq_cases.family_of(name), case.plan))
            largest = max(largest, distance(found, expected, case.inputs))
    report(largest <= SMALL, f"weft forward, {name}: largest difference {largest:.1e}")


def middle_model(family, tied=True):
    torch.manual_seed(13)
    if family in seq2seq_cases.T5_KIN:  # which ties its tables always
        config = MIDDLE_T5 | MIDDLE_OWN[family]
    else:
        config = MIDDLE_SHAPE | MIDDLE_OWN[family] | {"tie_word_embeddings": tied}
        config |= {"max_encoder_position_embeddings": 640} if family == "led" else {"max_position_embeddings": 640}
    if family == "marian":
        config |= {"pad_token_id": 399, "decoder_start_token_id": 399}
    names = seq2seq_cases.CLASSES[family]
    model = getattr(hf, names[1])(getattr(hf, names[0])(**config)).eval()
    waves = {name for name, _ in model.named_parameters() if "embed_positions" in name and family in ("marian", "pegasus")}
    for name, parameter in model.named_parameters():
        if name not in waves:
            parameter.data += 0.08 * torch.randn(parameter.shape)
    if hasattr(model, "final_logits_bias"):
        model.final_logits_bias += torch.randn(model.final_logits_bias.shape)
    return model


def middle_inputs(family, model, lengths=(517, 431, 3)):
    torch.manual_seed(17)
    pad = model.config.pad_token_id
    ids = torch.randint(4, 390, (len(lengths), lengths[0]))
    for row, length in zip(ids, lengths):
        row[length:] = pad
    inputs = {"input_ids": ids, "attention_mask": (ids != pad).long(), "decoder_input_ids": torch.randint(4, 390, (len(lengths), 41))}
    if family == "led":
        inputs["global_attention_mask"] = torch.zeros_like(ids)
        inputs["global_attention_mask"][:, 0] = 1
    return inputs


def all_copies(model):
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def write_layout(model, folder, layout):
    """A directory as transformers 5 writes it, or with its weights in another form."""
    sharded = {"max_shard_size": "120KB"} if layout == "shards" else {}
    model.save_pretrained(folder, **sharded)
    if layout not in ("all copies", ".bin"):
        return
    (pathlib.Path(folder) / "model.safetensors").unlink()
    if layout == ".bin":
        torch.save(model.state_dict(), pathlib.Path(folder) / "pytorch_model.bin")
    else:
        save_file(all_copies(model), pathlib.Path(folder) / "model.safetensors")


def check_middle(family):
    for tied in (True,) if family in seq2seq_cases.T5_KIN else (True, False):
        model = middle_model(family, tied)
        inputs = middle_inputs(family, model)
        expected = outputs_of(model, inputs)
        # Two programs in float32 may lie apart by as much as each lies from the exact result: the logits of mT5 reach 42, where numbers are 4e-6 apart.
        rounding = 2 * distance(expected, outputs_of(copy.deepcopy(model).double(), inputs), inputs)
        for layout in ("one copy", "all copies", ".bin", "shards"):
            with tempfile.TemporaryDirectory() as folder:
                write_layout(model, folder, layout)
                largest = distance(shared.weft_forward(folder, inputs, *flags_of(family)), expected, inputs)
                report(largest <= max(MIDDLE, rounding), f"{family}, {'tied' if tied else 'untied'}, {layout}, 517 tokens: largest difference {largest:.1e}")
                if layout == "one copy":
                    check_back(family, tied, folder, inputs, expected)


def check_bfloat16(family):
    """Two programs that round at other places differ by as much as either differs from float32, so that each is measured against that: Weft
    may be no farther away than transformers is, by mean square, but for a quarter of it, which the order of sums moves either way."""
    model = middle_model(family)
    inputs = middle_inputs(family, model)
    expected = outputs_of(model, inputs)["logits"].double()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        found = shared.weft_forward(folder, inputs, *flags_of(family), "--dtype", "bfloat16")["logits"].double()
    theirs = outputs_of(model.bfloat16(), inputs)["logits"].double()
    ours, reference = ((logits - expected).square().mean().sqrt().item() for logits in (found, theirs))
    report(0 < ours <= 1.25 * reference, f"{family}, bfloat16, 517 tokens: {ours:.1e} from float32, transformers {reference:.1e}, logits up to {expected.abs().max():.1f}")


def loads_quietly(directory, family):
    names = seq2seq_cases.CLASSES[family]
    heard = shared.Warnings()
    shared.logging.getLogger("transformers").addHandler(heard)
    try:
        model, found = getattr(hf, names[1]).from_pretrained(directory, output_loading_info=True)
    finally:
        shared.logging.getLogger("transformers").removeHandler(heard)
    wrong = {kind: keys for kind, keys in found.items() if keys}
    return model.eval(), wrong or heard.lines


def check_back(family, tied, folder, inputs, expected):
    """What Weft writes out of a directory is the same model to transformers."""
    with tempfile.TemporaryDirectory() as place:
        made = pathlib.Path(place) / "made"
        subprocess.run([shared.WEFT, "convert", folder, "--out", made], check=True, stdout=subprocess.DEVNULL)
        model, said = loads_quietly(made, family)
        largest = distance(outputs_of(model, inputs), expected, inputs)
        report(not said and largest <= 1e-6, f"transformers loads what weft wrote, {family}, {'tied' if tied else 'untied'}: {largest:.1e}{said or ''}")


def check_init(family):
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / "made"
        sizes = MIDDLE_SHAPE | ({"decoder_attention_heads": 4, "decoder_ffn_dim": 96} if family in seq2seq_cases.T5_KIN else {})
        shape = [word for name, value in sizes.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        ids = ["--pad-token-id", "1", "--decoder-start-token-id", "2", "--eos-token-id", "2"]
        subprocess.run([shared.WEFT, "init", "--family", family, "--out", made, *shape, *ids], check=True, stdout=subprocess.DEVNULL)
        _, said = loads_quietly(made, family)
        report(not said, f"transformers loads what weft init wrote, {family}{said or ''}")
        assert json.loads((made / "config.json").read_text())["is_encoder_decoder"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", choices=seq2seq_cases.CLASSES, help="this one alone, and no fixtures")
    options = parser.parse_args()
    hf.utils.logging.disable_progress_bar()
    families = [options.family] if options.family else list(seq2seq_cases.CLASSES)
    if not options.family:
        check_fixtures()
    for name in seq2seq_cases.MODELS:
        if seq2seq_cases.family_of(name) in families:
            check_small(name)
    for family in families:
        check_middle(family)
        check_bfloat16(family)
        check_init(family)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
