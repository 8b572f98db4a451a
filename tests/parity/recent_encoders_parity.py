# SPDX-License-Identifier: Apache-2.0
"""Encoders of random shape and settings of the families in SHAPES against the installed transformers, with every head, in the forms that files had;
and what `weft init` makes of the same config, and `weft convert` of the model, which transformers loads without a word and computes to the same numbers.

Usage: tests/parity/recent_encoders_parity.py [--family NAME] [--count N] [--seed S]
"""
import argparse
import copy
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

import torch
import transformers as hf

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import encoder_parity as common  # noqa: E402
from encoder_parity import encoder_cases, report  # noqa: E402

ACTIVATIONS = ["gelu", "relu", "gelu_new", "silu"]


def sizes(source, columns=(4, 6, 16)):
    heads = source.choice([1, 2, 3])
    return {"vocab_size": source.randrange(20, 60), "hidden_size": heads * source.choice(columns), "num_attention_heads": heads, "num_hidden_layers": source.randrange(5),
            "intermediate_size": source.randrange(1, 40), "max_position_embeddings": source.randrange(44, 90)}


def modernbert(source, head):
    flags = {name: source.random() < 0.3 for name in ("norm_bias", "attention_bias", "mlp_bias", "classifier_bias")}
    shape = sizes(source) | flags | {"num_hidden_layers": source.randrange(1, 6)} | {"local_attention": source.choice([1, 2, 7, 16]), "norm_eps": source.choice([1e-5, 1e-2]), "decoder_bias": source.random() < 0.7,
                                     "classifier_pooling": source.choice(["cls", "mean"]), "hidden_activation": source.choice(ACTIVATIONS),
                                     "classifier_activation": source.choice(ACTIVATIONS), "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2,
                                     "cls_token_id": 0, "sep_token_id": 2}
    form = source.choice(["old", "periodic", "listed"])
    if form == "listed":
        kinds = [source.choice(["full_attention", "sliding_attention"]) for _ in range(shape["num_hidden_layers"])]
        shape["layer_types"] = kinds
    else:
        shape["global_attn_every_n_layers"] = source.choice([1, 2, 3])
    shape |= {"global_rope_theta": source.choice([500.0, 160000.0]), "local_rope_theta": source.choice([20.0, 10000.0])}
    config = hf.ModernBertConfig(**shape)
    written = config.to_dict()
    if form == "old":  # as 4.48 wrote it
        for name in ("layer_types", "rope_parameters"):
            written.pop(name, None)
        written |= shape | {"position_embedding_type": "absolute"}
    return config, written


def posted(source):
    """What the descendants of BERT share."""
    return sizes(source) | {"layer_norm_eps": source.choice([1e-12, 1e-5]), "type_vocab_size": source.choice([1, 2, 3]), "hidden_act": source.choice(ACTIVATIONS)}


def mpnet(source, head):
    # With a layer at least: transformers has a table of distances without one too, which nobody reads, and Weft none.
    config = hf.MPNetConfig(**posted(source) | {"num_hidden_layers": source.randrange(1, 5), "pad_token_id": 1})
    return config, config.to_dict()


def electra(source, head):
    shape = posted(source)
    config = hf.ElectraConfig(**shape, embedding_size=source.choice([shape["hidden_size"], 3, 24]), summary_activation=source.choice(["gelu", "tanh"]))
    return config, config.to_dict()


def nomic_bert(source, head):
    config = hf.NomicBertConfig(**posted(source), rope_parameters={"rope_theta": source.choice([30.0, 1000.0]), "rope_type": "default"})
    written = config.to_dict()
    if source.random() < 0.5 and config.hidden_act in ("silu", "gelu"):  # the fields of its authors
        names = {"hidden_size": "n_embd", "num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "intermediate_size": "n_inner",
                 "max_position_embeddings": "n_positions", "layer_norm_eps": "layer_norm_epsilon"}
        written = {names.get(name, name): value for name, value in written.items() if name not in ("hidden_act", "rope_parameters", "head_dim")}
        written |= {"activation_function": {"silu": "swiglu", "gelu": "geglu"}[config.hidden_act], "rotary_emb_base": config.rope_parameters["rope_theta"],
                    "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False, "prenorm": False, "qkv_proj_bias": False, "use_rms_norm": None, "num_experts": 0}
    return config, written


def eurobert(source, head):
    shape = sizes(source)
    heads = shape["num_attention_heads"]
    config = hf.EuroBertConfig(**shape, num_key_value_heads=source.choice([1, heads, None]), head_dim=source.choice([None, 2, 8]),
                               classifier_pooling=source.choice(["late", "mean", "bos"]), hidden_act=source.choice(ACTIVATIONS), rms_norm_eps=source.choice([1e-5, 1e-2]),
                               attention_bias=source.random() < 0.3, mlp_bias=source.random() < 0.3, pad_token_id=1, bos_token_id=0, eos_token_id=1, mask_token_id=3,
                               rope_parameters={"rope_theta": source.choice([30.0, 250000.0]), "rope_type": "default"})
    written = config.to_dict()
    if source.random() < 0.5:  # the fields of its authors
        written |= {"rope_theta": config.rope_parameters["rope_theta"], "rope_scaling": None, "clf_pooling": config.classifier_pooling}
        written = {name: value for name, value in written.items() if name not in ("rope_parameters", "classifier_pooling")}
    return config, written


def esm(source, head):
    settings = {"position_embedding_type": source.choice(["rotary", "absolute"]), "emb_layer_norm_before": source.choice([True, False, None]),
                "token_dropout": source.random() < 0.7, "rope_theta": source.choice([30.0, 10000.0]), "layer_norm_eps": source.choice([1e-12, 1e-5])}
    config = hf.EsmConfig(**sizes(source), **settings, pad_token_id=1, mask_token_id=5, bos_token_id=0)
    return config, config.to_dict()


def deberta(source, head):
    shape = posted(source) | {"type_vocab_size": source.choice([0, 1, 2])}
    terms = source.choice([["c2p"], ["p2c"], ["p2c", "c2p"]])
    settings = {"relative_attention": source.random() < 0.8, "position_buckets": source.choice([-1, 4, 9, 16]), "max_relative_positions": source.choice([-1, 12, 20]),
                "pos_att_type": terms, "share_att_key": source.random() < 0.5, "norm_rel_ebd": source.choice(["layer_norm", "none"]),
                "position_biased_input": source.random() < 0.5, "conv_kernel_size": source.choice([0, 1, 3, 5]), "conv_act": source.choice(["tanh", "gelu"]),
                "pooler_hidden_act": source.choice(["gelu", "tanh"]), "embedding_size": source.choice([shape["hidden_size"], 3]), "pad_token_id": 0}
    if not settings["relative_attention"]:
        settings["norm_rel_ebd"] = "none"  # a norm of nothing, which transformers has then
    config = hf.DebertaV2Config(**shape | settings | {"num_hidden_layers": source.randrange(1, 4)})
    written = config.to_dict()
    if source.random() < 0.5:
        written["pos_att_type"] = "|".join(terms)
    return config, written


# A family's config, and its config.json.
SHAPES = {"deberta-v2": deberta, "eurobert": eurobert, "esm": esm, "modernbert": modernbert, "mpnet": mpnet, "electra": electra, "nomic_bert": nomic_bert}
# Whose models become longer ones.
LONGER = ("eurobert", "modernbert", "nomic_bert")
# What the classes of transformers begin with.
CLASSES = encoder_cases.FAMILIES


def labelled(source, config, head):
    if head in ("sequence-classification", "token-classification"):
        config.num_labels = source.choice([1, 2, 4])
    if head == "masked-lm":
        config.tie_word_embeddings = source.random() < 0.7


def write(source, model, written, folder):
    tensors = {name: tensor.detach().float().clone().contiguous() for name, tensor in model.state_dict().items() if tensor.is_floating_point()}
    if source.random() < 0.7:
        model.float().save_pretrained(folder, save_original_format=source.random() < 0.5)
    else:
        torch.save(tensors, folder / "pytorch_model.bin")
    written = written | {name: value for name, value in model.config.to_dict().items() if name in ("id2label", "label2id", "tie_word_embeddings")}
    (folder / "config.json").write_text(json.dumps(written | {"architectures": [type(model).__name__]}))


def inputs_of(source, config, head):
    """One token; an odd length; three rows with padding."""
    high, top = config.vocab_size, min(config.max_position_embeddings - 2, 61)
    lead = (2,) if head == "multiple-choice" else ()
    for lengths in ([1], [source.randrange(2, top)], [top, source.randrange(1, top), source.randrange(1, top)]):
        ids = torch.randint(4, high, (len(lengths), *lead, max(lengths)), generator=torch.Generator().manual_seed(source.randrange(10**6)))
        keep = torch.zeros_like(ids)
        for row, length in enumerate(lengths):
            keep[row, ..., :length] = 1
        ids = torch.where(keep == 1, ids, config.pad_token_id)
        # With a mask always: the mean over choices of transformers 5.23 needs one.
        types = torch.randint(config.type_vocab_size, ids.shape, generator=torch.Generator().manual_seed(len(ids))) if getattr(config, "type_vocab_size", 0) > 0 else None
        yield {"input_ids": ids, "attention_mask": keep} | ({"token_type_ids": types} if types is not None and config.model_type != "mpnet" else {})


def difference(source, model, directory, head):
    """From float64, in parts of what is allowed: SMALL, or twice what transformers in float32 has itself, where weights are so large that rounding shows."""
    largest, narrow = 0.0, copy.deepcopy(model).float()
    for inputs in inputs_of(source, model.config, head):
        found = common.weft_forward(directory, inputs)
        expected = common.outputs_of(model, inputs)
        assert found.keys() == expected.keys(), (found.keys(), expected.keys())
        # Norms begin as ones, so that results of several units come of small sums.
        size, keep = max(1.0, *(tensor.abs().max().item() for tensor in expected.values())), inputs["attention_mask"].bool()
        ours, theirs = (common.distance(each, expected, keep)[0] / size for each in (found, common.outputs_of(narrow, inputs)))
        largest = max(largest, ours / max(common.SMALL, 2 * theirs))
    return largest


def class_of(family, head):
    return getattr(hf, CLASSES[family] + encoder_cases.HEADS[head])


def random_model(source, family, head, folder):
    """In float64; `folder` has it as transformers or its authors write it."""
    config, written = SHAPES[family](source, head)
    labelled(source, config, head)
    model = class_of(family, head)(config)
    encoder_cases.common.randomise(model, source.randrange(10**6), scale=0.35)
    write(source, model.double().eval(), written, folder)
    return model.double()


def loaded(directory, family, head):
    """By transformers, which says nothing."""
    quiet, said = common.loads_quietly(directory, family, head)
    assert quiet, (family, head, said, json.loads((directory / "config.json").read_text()))
    return class_of(family, head).from_pretrained(directory).double().eval()


def check_read(source, family, head):
    with tempfile.TemporaryDirectory() as folder:
        return difference(source, random_model(source, family, head, pathlib.Path(folder)), folder, head)


def check_made(source, family, head):
    """The other way: weights of Weft in the class of transformers."""
    _, written = SHAPES[family](source, head)
    # 0.3 at width 48 and four layers makes differences of float32 a hundred times as large in each program, by other factors.
    deviation = min(0.3, 1.2 / math.sqrt(written.get("hidden_size", written.get("n_embd"))))
    with tempfile.TemporaryDirectory() as folder:
        config, made = pathlib.Path(folder) / "config.json", pathlib.Path(folder) / "made"
        config.write_text(json.dumps(written))
        subprocess.run([common.WEFT, "init", "--config", config, "--head", head, "--initializer-range", f"{deviation:.3f}", "--out", made], check=True,
                       stdout=subprocess.DEVNULL)
        return difference(source, loaded(made, family, head), made, head)


def check_longer(source, family, head):
    """A model that was read and written again, for longer texts: the one that it was."""
    with tempfile.TemporaryDirectory() as folder:
        given, made = pathlib.Path(folder) / "given", pathlib.Path(folder) / "made"
        given.mkdir()
        model = random_model(source, family, head, given)
        length = model.config.max_position_embeddings + source.randrange(1, 100)
        subprocess.run([common.WEFT, "convert", given, "--to", family, "--length", str(length), "--out", made], check=True, stdout=subprocess.DEVNULL)
        again = loaded(made, family, head)
        assert again.config.max_position_embeddings == length, again.config
        return max(difference(source, one, made, head) for one in (model, again))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", choices=SHAPES)
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    hf.utils.logging.disable_progress_bar()
    seed = random.randrange(10**6) if options.seed is None else options.seed
    for family in [options.family] if options.family else SHAPES:
        for way in (check_read, check_made, *([check_longer] if family in LONGER else [])):
            source = random.Random(f"{seed} {family}")
            largest = max(way(source, family, head) for head in encoder_cases.heads_of(family) for _ in range(options.count))
            report(largest <= 1, f"{way.__name__}, {family}, seed {seed}: largest difference {largest:.2f} of what is allowed")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
