# SPDX-License-Identifier: Apache-2.0
"""One long text through a Longformer of base size without global tokens, by one library: long_text_peer.py LIBRARY DIRECTORY LENGTH DTYPE THREADS OUT.safetensors

LIBRARY is transformers, sentence-transformers or onnxruntime. Prints {"seconds", "peak_gb"}: the faster of two runs after one that is not counted,
and the most memory that the process held. OUT gets `last_hidden_state`. ONNX Runtime is given the model as torch exports it, with all of its graph
optimisations, in a process that only runs it. A library that needs more memory than is free ends with a line that says so.

long_text_peer.py ids LENGTH OUT.safetensors writes the token ids that every library is given.
long_text_peer.py difference A.safetensors B.safetensors prints {"difference"}: the largest between two numbers of the hidden states.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import torch
from safetensors.torch import load_file, save_file

HIGHEST_ID = 5000


def ids(length):
    drawn = torch.randint(5, HIGHEST_ID, (1, length), generator=torch.Generator().manual_seed(length))
    return {"input_ids": drawn, "attention_mask": torch.ones_like(drawn)}


def best(run):
    """What a run gives, and the seconds of the faster of two after a first one."""
    hidden, times = run(), []
    for _ in range(2):
        begin = time.perf_counter()
        hidden = run()
        times.append(time.perf_counter() - begin)
    return hidden, min(times)


def transformers_run(directory, inputs, dtype):
    import transformers
    model = transformers.LongformerModel.from_pretrained(directory, dtype=dtype, add_pooling_layer=False).eval()
    return lambda: model(**inputs).last_hidden_state


def sentence_run(directory, inputs, dtype):
    """Its own modules around the same model: what encode() calls when a text is tokenised."""
    import sentence_transformers
    from sentence_transformers import models
    word = models.Transformer(directory, model_kwargs={"dtype": dtype, "add_pooling_layer": False})
    model = sentence_transformers.SentenceTransformer(modules=[word, models.Pooling(word.get_embedding_dimension())], device="cpu").eval()
    return lambda: model(dict(inputs))["token_embeddings"]


def onnx_run(directory, inputs, threads):
    import onnxruntime
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "model.onnx")
        done = subprocess.run([sys.executable, __file__, "export", directory, str(inputs["input_ids"].shape[1]), file], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"the export ended with {done.returncode}: {(done.stderr.strip().splitlines() or ['it said nothing'])[-1]}")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    taken = {entry.name for entry in session.get_inputs()}
    fed = {name: tensor.numpy() for name, tensor in inputs.items() if name in taken}  # tracing may have made the mask a constant
    return lambda: torch.from_numpy(session.run(["hidden"], fed)[0])


def export(directory, length, file):
    import transformers
    config = transformers.LongformerConfig.from_pretrained(directory)
    config.onnx_export = True
    model = transformers.LongformerModel.from_pretrained(directory, config=config, add_pooling_layer=False).eval()

    class Plain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = model

        def forward(self, input_ids, attention_mask):
            return self.inner(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    inputs = ids(length)
    with torch.no_grad():
        torch.onnx.export(Plain(), tuple(inputs.values()), file, input_names=list(inputs), output_names=["hidden"], dynamo=False)


def bound_memory():
    """What does not fit is an error of this process, and no other one has to make room. The bytes that are free."""
    with open("/proc/meminfo") as file:
        free = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable")) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (free, free))
    return free


def is_no_room(error):
    """Whether an error says that memory could not be had, as Python, LibTorch and ONNX Runtime say it."""
    said = str(error)
    return isinstance(error, MemoryError) or any(words in said for words in ("bad_alloc", "can't allocate memory", "Failed to allocate", "MemoryError"))


def compute(library, directory, length, dtype, threads, out):
    free = bound_memory()
    torch.set_num_threads(threads)
    inputs = ids(length)
    try:
        with torch.no_grad():
            if library == "onnxruntime":
                run = onnx_run(directory, inputs, threads)
            else:
                run = (transformers_run if library == "transformers" else sentence_run)(directory, inputs, getattr(torch, dtype))
            hidden, seconds = best(run)
    except Exception as error:
        if is_no_room(error):
            raise SystemExit(f"no room in memory: {library} needs more than the {free / 1e9:.0f} GB that are free") from None
        raise
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    save_file({"last_hidden_state": hidden.float().contiguous()}, out)
    print(json.dumps({"seconds": seconds, "peak_gb": peak}))


def difference(first, second):
    a, b = (load_file(path)["last_hidden_state"].float() for path in (first, second))
    if a.shape != b.shape or not (a.isfinite().all() and b.isfinite().all()):
        raise SystemExit(f"hidden states cannot be compared: {tuple(a.shape)} and {tuple(b.shape)}, or not finite")
    print(json.dumps({"difference": float((a - b).abs().max())}))


def main():
    kind, *rest = sys.argv[1:]
    if kind == "ids":
        save_file(ids(int(rest[0])), rest[1])
        print("{}")
    elif kind == "export":
        export(rest[0], int(rest[1]), rest[2])
    elif kind == "difference":
        difference(*rest)
    else:
        directory, length, dtype, threads, out = rest
        compute(kind, directory, int(length), dtype, int(threads), out)


if __name__ == "__main__":
    main()
