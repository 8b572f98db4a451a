# SPDX-License-Identifier: Apache-2.0
"""Embeds the lines of a file with one library, as embeddings.py asks: peers.py sentence-transformers|onnxruntime DTYPE DIR FILE THREADS OUT.npy

Prints {"seconds", "batch_size"} of the best batch size, start-up apart: everything is run once before it is timed. Texts are sorted by length,
as sentence-transformers does itself. onnxruntime is given the same model, exported by torch, with all of its graph optimisations.
"""
import json
import sys
import tempfile
import time

import numpy
import torch

BATCH_SIZES = (32, 64)
ROUNDS = 2


def sentence_transformer(dtype, directory, lines):
    import sentence_transformers
    model = sentence_transformers.SentenceTransformer(directory, device="cpu", model_kwargs={"torch_dtype": getattr(torch, dtype)})
    model.eval()

    def encode(size):
        vectors = model.encode(lines, batch_size=size, convert_to_tensor=True, show_progress_bar=False)
        return vectors.float().numpy()
    return encode


def onnx_runtime(dtype, directory, lines, threads):
    import onnxruntime
    import sentence_transformers
    library = sentence_transformers.SentenceTransformer(directory, device="cpu")
    transformer, tokenizer = library[0].auto_model.eval(), library.tokenizer
    tokenizer.model_max_length = library.max_seq_length

    class Plain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = transformer

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.inner(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).last_hidden_state

    file = tempfile.NamedTemporaryFile(suffix=".onnx")
    sample = tokenizer(["a short text", "another text that is longer"], padding=True, return_tensors="pt")
    names = ["input_ids", "attention_mask", "token_type_ids"]
    axes = {name: {0: "batch", 1: "length"} for name in [*names, "hidden"]}
    torch.onnx.export(Plain(), tuple(sample[name] for name in names), file.name, input_names=names, output_names=["hidden"], dynamic_axes=axes, dynamo=False)
    if dtype == "int8":
        from onnxruntime import quantization
        small = tempfile.NamedTemporaryFile(suffix=".onnx")
        quantization.quantize_dynamic(file.name, small.name, per_channel=True, weight_type=quantization.QuantType.QInt8)
        file = small
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(file.name, options, providers=["CPUExecutionProvider"])
    order = sorted(range(len(lines)), key=lambda line: -len(lines[line]))

    def encode(size):
        vectors = [None] * len(lines)
        for begin in range(0, len(order), size):
            chosen = order[begin:begin + size]
            batch = tokenizer([lines[line] for line in chosen], padding=True, truncation=True, return_tensors="np")
            hidden, = session.run(None, {name: batch[name].astype(numpy.int64) for name in names})
            mask = batch["attention_mask"][..., None]
            mean = (hidden * mask).sum(1) / mask.sum(1)
            mean /= numpy.linalg.norm(mean, axis=1, keepdims=True)
            for line, vector in zip(chosen, mean):
                vectors[line] = vector
        return numpy.stack(vectors)
    return encode


def main():
    library, dtype, directory, file, threads, out = sys.argv[1:]
    torch.set_num_threads(int(threads))
    with open(file) as opened:
        lines = opened.read().splitlines()
    encode = onnx_runtime(dtype, directory, lines, int(threads)) if library == "onnxruntime" else sentence_transformer(dtype, directory, lines)
    best = None
    for size in BATCH_SIZES:
        encode(size)
        for _ in range(ROUNDS):
            begin = time.perf_counter()
            vectors = encode(size)
            seconds = time.perf_counter() - begin
            if best is None or seconds < best["seconds"]:
                best = {"seconds": seconds, "batch_size": size}
    numpy.save(out, vectors.astype(numpy.float32))
    print(json.dumps(best))


if __name__ == "__main__":
    main()
