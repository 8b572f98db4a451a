#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Encoders of every family and head against the installed transformers.

The fixtures of tests/fixtures/encoders are made anew and compared with the stored ones, which the tests hold Weft to. Then `weft forward` runs directories
that transformers wrote, small ones and base sizes, in float32 and bfloat16, and small ones of random shape in the forms that files had over the years;
and transformers loads directories that `weft init` and `weft convert` wrote, without a warning.
"""
import argparse
import copy
import json
import logging
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import torch
import transformers as hf
from safetensors import safe_open
from safetensors.torch import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests/fixtures"
WEFT = os.environ.get("WEFT_BINARY", ROOT / "build/release/bin/weft")
sys.path.insert(0, str(FIXTURES / "make"))

import encoder_cases  # noqa: E402
import encoders  # noqa: E402

SAME_FIXTURE = 1e-5  # float32 copies of float64 results of several units; another machine may sum in another order
SMALL, BASE = 2e-5, 1e-3  # what docs/models.md promises
WORSE = 1.2  # root mean square distance of bfloat16 from float32, over that of transformers
UNREAD = ("contact_head.", "rotary_embeddings.inv_freq")  # of ESM, whose contacts are no head of Weft's; transformers computes the other one anew
DRAWS = {"sequence-classification": 12, "multiple-choice": 12}  # models, each with other weights
BASES = {"bert": 512, "roberta": 512, "xlm-roberta": 512, "camembert": 512, "distilbert": 512, "modernbert": 1500,
         "mpnet": 512, "electra": 512, "nomic_bert": 1024, "eurobert": 700, "esm": 900, "deberta-v2": 700,
         "longformer": 1500, "big_bird": 1500, "nystromformer": 512, "nystrom_landmarks": 1536}


class Report:
    failed = 0

    def __call__(self, good, text):
        print(f"{'ok' if good else 'DIFFERS':8} {text}", flush=True)
        self.failed += not good


report = Report()
FLOAT_ONLY = {"nystrom_landmarks"}  # transformers 5.23 multiplies its inverse, which is float32, with bfloat16, and fails


def read(path):
    with safe_open(path, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()["plans"]


def check_fixtures():
    with tempfile.TemporaryDirectory() as folder:
        for path in encoders.make(folder):
            (made, plans), (stored, stored_plans) = read(path), read(FIXTURES / "encoders" / path.name)
            assert made.keys() == stored.keys() and plans == stored_plans, path.name
            largest = max((made[name].double() - stored[name].double()).abs().max().item() for name in made)
            report(largest <= SAME_FIXTURE, f"fixture {path.stem}: largest difference {largest:.1e}")


def weft_forward(directory, inputs, *flags):
    with tempfile.TemporaryDirectory() as folder:
        given, made = pathlib.Path(folder) / "in.safetensors", pathlib.Path(folder) / "out.safetensors"
        save_file({name: tensor.contiguous() for name, tensor in inputs.items()}, given)
        subprocess.run([WEFT, "forward", directory, "--input", given, "--output", made, *flags], check=True)
        return load_file(made)


def distance(found, expected, keep):
    """Largest and root mean square difference over the outputs, where tokens are no padding. BigBird hides a question's scores at
    -1e6, where float32 counts in sixteenths: those are equal when both are there."""
    largest, squares, count = 0.0, 0.0, 0
    for name, tensor in found.items():
        difference = (tensor.double().clamp_min(-1e5) - expected[name].double().clamp_min(-1e5)).abs()
        if name != "pooler_output" and tensor.shape[:2] == keep.shape:  # a number or a row for each token
            difference = difference[keep]
        largest, squares, count = max(largest, difference.max().item()), squares + difference.square().sum().item(), count + difference.numel()
    return largest, (squares / count) ** 0.5


def outputs_of(model, inputs):
    with torch.no_grad():
        output = model(**inputs)
    return {name: output[name] for name in encoder_cases.OUTPUTS if output.get(name) is not None}


def flags_of(family, case):
    if family == "nystrom_landmarks":  # texts of a batch change each other in transformers
        return ["--pad-like-hf"]
    return ["--random", case.plan, "--pad-like-hf"] if case.plan else []


def kept(case):
    return case.inputs.get("attention_mask", torch.ones_like(case.inputs["input_ids"])).bool()


def saved(model, folder):
    model.float().save_pretrained(folder)
    return folder


def check_float32(family, head):
    largest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        saved(encoder_cases.build(family, head), folder)
        for case in encoder_cases.make_cases(family, head):
            expected, _, _ = encoder_cases.run(encoder_cases.build(family, head), case)
            found = weft_forward(folder, case.inputs, *flags_of(family, case))
            assert found.keys() == expected.keys(), (family, head, case.name)
            largest = max(largest, distance(found, expected, kept(case))[0])
    report(largest <= SMALL, f"weft forward, {family} {head}: largest difference {largest:.1e}")


def squares_in_bfloat16(family, head, seed):
    """Squared distances from float32 over the cases of one model: ours, and those of transformers in bfloat16."""
    model, narrow = encoder_cases.build(family, head, seed), encoder_cases.build(family, head, seed).bfloat16()
    ours, theirs = 0.0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        saved(encoder_cases.build(family, head, seed), folder)
        for case in encoder_cases.make_cases(family, head):
            expected, _, _ = encoder_cases.run(model, case)
            ours += distance(weft_forward(folder, case.inputs, "--dtype", "bfloat16", *flags_of(family, case)), expected, kept(case))[1] ** 2
            alone = copy.deepcopy(narrow).train(case.plan == "released")
            encoder_cases.hide_padding_from_convolutions(alone, case.inputs)
            theirs += distance(outputs_of(alone, case.inputs), expected, kept(case))[1] ** 2
    return ours, theirs


def check_bfloat16(family, head):
    """The root mean square over all cases and, where a text has but a few logits, the geometric mean of the ratios of several models: one draw of rounding
    errors says little, and of a sum over models those with large logits are most. (Nystromformer's choices: 12 models give 1.27 by their sum and 1.08 by
    this mean, 48 models 1.08 and 0.99; drawn again, 12 models scatter by 0.13 and 0.06.)"""
    if family in FLOAT_ONLY:
        return
    draws = DRAWS.get(head, 1)
    squares = [squares_in_bfloat16(family, head, 31 + draw) for draw in range(draws)]
    ratio = math.exp(sum(math.log(ours / theirs) for ours, theirs in squares) / (2 * draws))
    report(ratio <= WORSE, f"weft forward, {family} {head}, bfloat16, {draws} models: {ratio:.2f} of transformers' distance from float32")


def check_base(family, length):
    torch.manual_seed(5)
    landmarks = {"segment_means_seq_len": length} if family == "nystrom_landmarks" else {}
    config = getattr(hf, encoder_cases.FAMILIES[family] + "Config")(max_position_embeddings=length + 36, **landmarks)
    model = getattr(hf, encoder_cases.FAMILIES[family] + "Model")(config).eval()
    ids = torch.randint(70, 30000, (2, length))
    if not landmarks:  # which transformers has for texts without padding
        ids[1, length - 100:] = config.pad_token_id
    inputs = {"input_ids": ids, "attention_mask": (ids != config.pad_token_id).long()}
    if family == "longformer":
        inputs["global_attention_mask"] = torch.zeros_like(ids)
        inputs["global_attention_mask"][:, :7] = 1
    keep = inputs["attention_mask"].bool()
    if landmarks:
        del inputs["attention_mask"]
    flags = ["--random", "hf-eval", "--pad-like-hf"] if family == "big_bird" else ["--pad-like-hf"] if landmarks else []
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        encoder_cases.hide_padding_from_convolutions(model, inputs)
        exact = outputs_of(model, inputs)
        largest, _ = distance(weft_forward(folder, inputs, *flags), exact, keep)
        report(largest <= BASE, f"base size, {family}, {length} tokens, float32: largest difference {largest:.1e}")
        if family in FLOAT_ONLY:
            return
        _, ours = distance(weft_forward(folder, inputs, "--dtype", "bfloat16", *flags), exact, keep)
        _, theirs = distance(outputs_of(model.bfloat16(), inputs), exact, keep)
        report(ours <= WORSE * theirs, f"base size, {family}, {length} tokens, bfloat16: {ours / theirs:.2f} of transformers' distance from float32")


def random_config(source, family, head):
    """Another shape each time; the class of the family and head."""
    config = encoder_cases.make_config(family, head)
    heads = source.choice([1, 2, 3])
    shape = {"hidden_size": heads * source.choice([4, 6, 16]), "num_attention_heads": heads, "num_hidden_layers": source.randrange(4),
             "vocab_size": source.randrange(20, 60), "max_position_embeddings": source.randrange(44, 90)}
    shape |= {"activation" if family == "distilbert" else "hidden_act": source.choice(["gelu", "relu", "gelu_new", "silu"]),
              "hidden_dim" if family == "distilbert" else "intermediate_size": source.randrange(1, 40)}
    if family == "distilbert":
        config = {name: value for name, value in config.items() if name not in ("dim", "n_heads", "n_layers")} | {"sinusoidal_pos_embds": source.random() < 0.5}
    else:
        shape |= {"layer_norm_eps": source.choice([1e-12, 1e-5, 1e-2]), "type_vocab_size": source.choice([1, 2, 3])}
    if head == "masked-lm":
        shape["tie_word_embeddings"] = source.random() < 0.7
    return getattr(hf, encoder_cases.FAMILIES[family] + "Config")(**config | shape)


def decoder_of(model):
    """What the table of a masked-LM head is called."""
    usual = "cls.predictions.decoder" if model.base_model_prefix == "bert" else "lm_head.decoder"
    return {"distilbert": "vocab_projector"}.get(model.config.model_type, usual)


def with_some_copies(source, model, head):
    """The tensors of a model, without some of the copies that later releases leave out."""
    tensors, decoder, tied = model.state_dict(), decoder_of(model), model.config.tie_word_embeddings
    if head != "masked-lm" or tied and source.random() < 0.5:
        tensors.pop(decoder + ".weight", None)
    if decoder + ".bias" in tensors and model.config.model_type != "distilbert" and tied:
        tensors.pop(source.choice([decoder + ".bias", decoder[:-7] + "bias"]))
    return tensors


def by_older_names(source, tensors):
    if source.random() < 0.5:
        for name in [name for name in tensors if "LayerNorm." in name]:
            tensors[name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")] = tensors.pop(name)
    return tensors


def with_idle_tensors(source, model, head, tensors, beginning):
    """With tensors that files have and nobody reads."""
    if source.random() < 0.5:
        tensors[beginning + "embeddings.position_ids"] = torch.arange(model.config.max_position_embeddings)[None]
    pooled = model.config.model_type != "distilbert" and head in ("masked-lm", "token-classification", "question-answering")
    if pooled and source.random() < 0.5:
        width = model.config.hidden_size
        tensors |= {beginning + "pooler.dense.weight": torch.zeros(width, width), beginning + "pooler.dense.bias": torch.zeros(width)}
    return tensors


def as_of_some_year(source, model, head, folder):
    """Writes the model as one of the releases, or somebody's program, would have: what differs in names and forms changes no number."""
    prefix, tensors = model.base_model_prefix + ".", by_older_names(source, with_some_copies(source, model, head))
    bare = head == "none" and source.random() < 0.5
    if bare:
        tensors = {prefix + name: tensor for name, tensor in tensors.items()}
    tensors = with_idle_tensors(source, model, head, tensors, "" if head == "none" and not bare else prefix)
    tensors = {name: tensor.detach().float().clone() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
    if source.random() < 0.5:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors")
    else:
        torch.save(tensors, folder / "pytorch_model.bin")
    config = model.config.to_dict() | source.choice([{}, {"eos_token_id": [2, 3]}, {"eos_token_id": None, "bos_token_id": None}, {"classifier_dropout": None}])
    (folder / "config.json").write_text(json.dumps(config))


def check_random(source, family, head):
    model = getattr(hf, encoder_cases.FAMILIES[family] + encoder_cases.HEADS[head])(random_config(source, family, head))
    encoder_cases.common.randomise(model, source.randrange(10**6), scale=0.35)
    model = model.double().eval()
    largest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        as_of_some_year(source, model, head, pathlib.Path(folder))
        for case in encoder_cases.make_cases(family, head):
            if case.inputs.get("token_type_ids", torch.zeros(1)).max() < getattr(model.config, "type_vocab_size", 1):
                largest = max(largest, distance(weft_forward(folder, case.inputs), outputs_of(model, case.inputs), kept(case))[0])
    return largest


def check_older(seed):
    """Families whose published files are of many releases."""
    source = random.Random(seed)
    for family in ("bert", "roberta", "xlm-roberta", "camembert", "distilbert"):
        largest = max(check_random(source, family, head) for head in encoder_cases.heads_of(family) for _ in range(3))
        report(largest <= SMALL, f"files of some year and shape, {family}, seed {seed}: largest difference {largest:.1e}")


class Warnings(logging.Handler):
    """Keeps what transformers says."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def loads_quietly(directory, family, head):
    heard = Warnings()
    logging.getLogger("transformers").addHandler(heard)
    try:
        _, found = getattr(hf, encoder_cases.FAMILIES[family] + encoder_cases.HEADS[head]).from_pretrained(directory, output_loading_info=True)
    finally:
        logging.getLogger("transformers").removeHandler(heard)
    wrong = {kind: [name for name in names if not name.startswith(UNREAD) and not name.split(".", 1)[-1].startswith(UNREAD)] for kind, names in found.items()}
    wrong = {kind: names for kind, names in wrong.items() if names}
    lines = [] if any(found.values()) and not wrong else heard.lines
    return not wrong and not lines, wrong or lines


def check_written(family, head):
    kind, landmarks = ("nystromformer", ["--num-landmarks", "8"]) if family == "nystrom_landmarks" else (family, [])
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / "made"
        sizes = ["--num-hidden-layers", "2", "--hidden-size", "32", "--num-attention-heads", "2", "--intermediate-size", "48"]
        windows = ["--attention-window", "64"] if family == "longformer" else []
        subprocess.run([WEFT, "init", "--family", kind, "--head", head, "--out", made, *sizes, *windows, *landmarks], check=True, stdout=subprocess.DEVNULL)
        quiet, said = loads_quietly(made, family, head)
        report(quiet, f"transformers loads what weft init wrote, {family} {head}{'' if quiet else ': ' + str(said)}")


def check_converted(source, target):
    """A directory that `weft convert` wrote, tokeniser included: loaded without a word, and used on a text longer than the source's."""
    with tempfile.TemporaryDirectory() as folder:
        short, made = pathlib.Path(folder) / "short", pathlib.Path(folder) / "made"
        sizes = ["--num-hidden-layers", "2", "--hidden-size", "32", "--num-attention-heads", "2", "--intermediate-size", "48",
                 "--max-position-embeddings", "66", "--tokenizer", FIXTURES / "tokenizers" / source.replace("-", "_"),
                 "--vocab-size", "512"]  # more than the tokens, so that BERT's separator, 102, is an id
        subprocess.run([WEFT, "init", "--family", source, "--head", "masked-lm", "--out", short, *sizes], check=True, stdout=subprocess.DEVNULL)
        shape = ["--attention-window", "8"] if target == "longformer" else ["--block-size", "4", "--random-blocks", "1"]
        subprocess.run([WEFT, "convert", short, "--to", target, "--length", "192", "--out", made, *shape], check=True, stdout=subprocess.DEVNULL)
        quiet, said = loads_quietly(made, target, "masked-lm")
        tokenizer = hf.AutoTokenizer.from_pretrained(made)
        inputs = dict(tokenizer(["the loom weaves " * 24], return_tensors="pt"))
        model = hf.AutoModelForMaskedLM.from_pretrained(made).eval()
        flags = ["--random", "hf-eval", "--pad-like-hf"] if target == "big_bird" else []
        largest, _ = distance(weft_forward(made, inputs, *flags), outputs_of(model, inputs), torch.ones_like(inputs["input_ids"]).bool())
        length = inputs["input_ids"].shape[1]
        good = quiet and 66 < length <= 192 and tokenizer.model_max_length == 192 and largest <= SMALL
        report(good, f"weft convert, {source} to {target}: {length} tokens differ by {largest:.1e}{'' if quiet else ': ' + str(said)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skip-base", action="store_true", help="leave out the base sizes, which take minutes")
    parser.add_argument("--seed", type=int, help="of the files of some year and shape")
    parser.add_argument("--family", choices=encoder_cases.FAMILIES, help="models of this family alone, without fixtures and older files")
    options = parser.parse_args()
    hf.utils.logging.disable_progress_bar()
    if not options.family:
        check_fixtures()
        check_older(random.randrange(10**6) if options.seed is None else options.seed)
    for family in [options.family] if options.family else encoder_cases.FAMILIES:
        for head in encoder_cases.heads_of(family):
            check_float32(family, head)
            check_bfloat16(family, head)
            check_written(family, head)
        if not options.skip_base:
            check_base(family, BASES[family])
    for source in () if options.family else ("bert", "roberta", "xlm-roberta"):
        for target in ("longformer", "big_bird"):
            check_converted(source, target)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
