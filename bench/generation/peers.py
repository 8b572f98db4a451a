# SPDX-License-Identifier: Apache-2.0
"""CTranslate2 and transformers on what bench_generation computes: the same directory, sources and number of tokens; one line of JSON.

    peers.py ctranslate2|transformers DIR INPUT --new N --beams N --repeats N --threads N --weights float32|bfloat16|int8
    peers.py make-gpt2 DIR none --seed N        # a directory of GPT-2's base shape with random weights

CTranslate2 is given the weights of a Marian directory by NumPy; no torch is imported for it. Its vocabulary keeps the padding id, from
which Marian's decoder starts, so that all programs choose among the same ids.
"""
import argparse
import json
import math
import os
import pathlib
import resource
import tempfile
import time

import numpy as np


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", choices=["ctranslate2", "transformers", "make-gpt2"])
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("input", type=pathlib.Path)
    for name, value in (("new", 32), ("beams", 1), ("repeats", 3), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--weights", choices=["float32", "bfloat16", "int8"], default="float32")
    return parser.parse_args()


def peak_gb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def sources(path):
    from safetensors.numpy import load_file

    return load_file(path)["input_ids"]


def waves(positions, width):
    """Marian's positions: all sines before all cosines."""
    angles = np.arange(positions)[:, None] / np.power(10000.0, np.arange(0, width, 2) / width)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)


class MarianSpec:
    """The weights of a Marian directory in the places that CTranslate2 has for them."""

    def __init__(self, directory):
        from ctranslate2.specs import common_spec, transformer_spec
        from safetensors.numpy import load_file

        self.config = json.loads((directory / "config.json").read_text())
        self.tensors = load_file(directory / "model.safetensors")
        activation = {"relu": common_spec.Activation.RELU, "swish": common_spec.Activation.SWISH, "gelu": common_spec.Activation.GELU}
        self.spec = transformer_spec.TransformerSpec.from_config(
            (self.config["encoder_layers"], self.config["decoder_layers"]), self.config["encoder_attention_heads"], pre_norm=False,
            activation=activation[self.config["activation_function"]])
        self.stack(self.spec.encoder, "model.encoder", self.spec.encoder.embeddings[0])
        self.stack(self.spec.decoder, "model.decoder", self.spec.decoder.embeddings)
        self.spec.decoder.projection.weight = self.tensors["model.shared.weight"]
        tokens = [f"t{number}" for number in range(self.config["vocab_size"])]
        self.spec.register_source_vocabulary(tokens)
        self.spec.register_target_vocabulary(tokens)
        config = self.spec.config
        config.eos_token, config.unk_token, config.bos_token = f"t{self.config['eos_token_id']}", "t1", "t2"
        config.decoder_start_token = f"t{self.config['decoder_start_token_id']}"

    def linear(self, place, *names):
        place.weight = np.concatenate([self.tensors[f"{name}.weight"] for name in names])
        place.bias = np.concatenate([self.tensors[f"{name}.bias"] for name in names])

    def norm(self, place, name):
        place.gamma, place.beta = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]

    def stack(self, stack, name, embeddings):
        stack.scale_embeddings = math.sqrt(self.config["d_model"]) if self.config["scale_embedding"] else 1.0
        stack.position_encodings.encodings = waves(self.config["max_position_embeddings"], self.config["d_model"])
        embeddings.weight = self.tensors["model.shared.weight"]
        for number, layer in enumerate(stack.layer):
            prefix = f"{name}.layers.{number}"
            self.linear(layer.self_attention.linear[0], *(f"{prefix}.self_attn.{part}_proj" for part in "qkv"))
            self.linear(layer.self_attention.linear[1], f"{prefix}.self_attn.out_proj")
            self.norm(layer.self_attention.layer_norm, f"{prefix}.self_attn_layer_norm")
            if name == "model.decoder":
                self.linear(layer.attention.linear[0], f"{prefix}.encoder_attn.q_proj")
                self.linear(layer.attention.linear[1], f"{prefix}.encoder_attn.k_proj", f"{prefix}.encoder_attn.v_proj")
                self.linear(layer.attention.linear[2], f"{prefix}.encoder_attn.out_proj")
                self.norm(layer.attention.layer_norm, f"{prefix}.encoder_attn_layer_norm")
            self.linear(layer.ffn.linear_0, f"{prefix}.fc1")
            self.linear(layer.ffn.linear_1, f"{prefix}.fc2")
            self.norm(layer.ffn.layer_norm, f"{prefix}.final_layer_norm")


def ctranslate2_model(options, folder):
    """A function from sources to ids, and the program's name."""
    import ctranslate2

    spec = MarianSpec(options.directory).spec
    spec.validate()
    spec.save(folder)
    del spec
    translator = ctranslate2.Translator(folder, device="cpu", compute_type=options.weights, inter_threads=1, intra_threads=options.threads)

    def generate(ids):
        tokens = [[f"t{number}" for number in row] for row in ids.tolist()]
        results = translator.translate_batch(tokens, beam_size=options.beams, min_decoding_length=options.new,
                                             max_decoding_length=options.new, max_input_length=0)
        return [[int(token[1:]) for token in result.hypotheses[0]] for result in results]

    return generate, f"ctranslate2 {ctranslate2.__version__}"


def transformers_model(options):
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    import torch
    import transformers

    torch.set_num_threads(options.threads)
    kind = json.loads((options.directory / "config.json").read_text())["model_type"]
    is_decoder = kind == "gpt2"
    opener = transformers.AutoModelForCausalLM if is_decoder else transformers.AutoModelForSeq2SeqLM
    model = opener.from_pretrained(options.directory, dtype=getattr(torch, options.weights)).eval()

    def generate(ids):
        given = torch.from_numpy(ids)
        extra = {"global_attention_mask": torch.zeros_like(given).index_fill_(1, torch.tensor([0]), 1)} if model.config.model_type == "led" else {}
        with torch.inference_mode():
            out = model.generate(input_ids=given, attention_mask=torch.ones_like(given), num_beams=options.beams, do_sample=False,
                                 min_new_tokens=options.new, max_new_tokens=options.new, forced_eos_token_id=None,
                                 forced_bos_token_id=None, **extra)
        return out[:, given.shape[1] if is_decoder else 1:].tolist()

    return generate, f"transformers {transformers.__version__}"


def make_gpt2(options):
    """Half of the numbers of the last norm get the other sign, so that a text is not one token over and over."""
    import torch
    import transformers

    torch.manual_seed(options.seed)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config())
    with torch.no_grad():
        weight = model.transformer.ln_f.weight
        weight.mul_(torch.randint(0, 2, weight.shape) * 2 - 1)
    model.save_pretrained(options.directory)


def timed(generate, ids):
    start, processor = time.perf_counter(), time.process_time()
    found = generate(ids)
    return time.perf_counter() - start, time.process_time() - processor, found


def main():
    options = arguments()
    if options.program == "make-gpt2":
        return make_gpt2(options)
    ids = sources(options.input)
    with tempfile.TemporaryDirectory() as folder:
        generate, name = ctranslate2_model(options, folder) if options.program == "ctranslate2" else transformers_model(options)
    loaded = peak_gb()
    first, _, found = timed(generate, ids)
    turns = [timed(generate, ids)[:2] for _ in range(options.repeats)]
    print(json.dumps({"program": name, "first_seconds": first, "loaded_gb": loaded, "peak_gb": peak_gb(), "seconds": [turn[0] for turn in turns],
                      "processor_seconds": [turn[1] for turn in turns], "ids": found}))


if __name__ == "__main__":
    main()
