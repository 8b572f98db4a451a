# SPDX-License-Identifier: Apache-2.0
"""Undamaged directories for mutants.py: each knows how it is made and which commands read it.

`make(directory, run)` fills an empty directory, by Python or by commands given to `run`; `commands(directory, out)` are argument lists
that read it and may write to `out`, which does not exist.
"""

import gzip
import json
import pathlib
import shutil
import struct
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))

from encoder_program import FAMILIES, FIXTURES, SMALL, TEXT, TOKENIZERS, write_safetensors  # noqa: E402

TINY = ["--context", "32", "--batch-size", "2", "--layers", "1", "--width", "16", "--heads", "2", "--dtype", "float32", "--threads", "1"]
FAST = ["--dtype", "float32", "--threads", "1", "--batch-size", "2", "--steps", "2"]
WORDS = "the loom weaves the thread and we see it well said she and hello world\n"
SQUAD = {"version": "v2.0", "data": [{"title": "t", "paragraphs": [{"context": "the loom weaves the thread", "qas": [
    {"id": "1", "question": "who weaves", "answers": [{"text": "the loom", "answer_start": 0}], "is_impossible": False},
    {"id": "2", "question": "who sings", "answers": [], "is_impossible": True}]}]}]}


OPEN_ANSWERS = pathlib.Path(__file__).resolve().parent / "corpus/open_answers"
QUESTIONS = {"hotpotqa": "hotpot.json", "triviaqa": "trivia.json", "nq": "nq.jsonl", "wikihop": "wikihop.json"}


class Seed:
    def __init__(self, make, commands):
        self.make, self.commands = make, commands


def encoder_arguments(directory, family, head):
    tokenizer, shape = (FAMILIES | MORE_FAMILIES)[family]
    return ["init", "--family", family, "--head", head, "--tokenizer", TOKENIZERS / tokenizer, *SMALL, *shape, "--out", directory]


def encoder(family, head, commands):
    return Seed(lambda directory, run: run(encoder_arguments(directory / "model", family, head)),
                lambda directory, out: [["info", directory / "model", "--check-tensors"], *commands(directory / "model", out)])


# What encoder_program.py has no rows of.
MORE_FAMILIES = {"camembert": ("camembert", ["--max-position-embeddings", "64"]), "jina_bert": ("bert", ["--max-position-embeddings", "62"])}
CONFIGS = ["distilbert", "modernbert", "mpnet", "electra", "nomic_bert", "eurobert", "esm", "deberta-v2", *MORE_FAMILIES, "star_transformer"]  # besides those below


def make_sentence(directory, run):
    """An embedder of sentence-transformers: two poolings, a Dense and a norm."""
    model = directory / "model"
    run(encoder_arguments(model, "bert", "none"))
    kinds = ("Transformer", "Pooling", "Dense", "Normalize")
    (model / "modules.json").write_text(json.dumps([{"idx": idx, "name": str(idx), "path": f"{idx}_{kind}" if idx else "",
                                                     "type": f"sentence_transformers.models.{kind}"} for idx, kind in enumerate(kinds)]))
    (model / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 16, "do_lower_case": True}))
    (model / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "the "}, "default_prompt_name": "query", "truncate_dim": 2}))
    for folder, config in (("1_Pooling", {"word_embedding_dimension": 32, "pooling_mode_cls_token": True, "pooling_mode_max_tokens": True, "include_prompt": False}),
                           ("2_Dense", {"in_features": 64, "out_features": 3, "bias": False, "activation_function": "torch.nn.modules.activation.Tanh"})):
        (model / folder).mkdir()
        (model / folder / "config.json").write_text(json.dumps(config))
    header = json.dumps({"linear.weight": {"dtype": "F32", "shape": [3, 64], "data_offsets": [0, 768]}}).encode()
    (model / "2_Dense" / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + struct.pack("<192f", *(n % 7 - 3 for n in range(192))))


def make_shards(directory, run):
    """A masked language model whose weights lie in two shards under an index."""
    run(encoder_arguments(directory / "model", "bert", "masked-lm"))
    whole = directory / "model" / "model.safetensors"
    content = whole.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    data, names, index = content[8 + length:], sorted(header), {}
    for shard, part in enumerate([names[::2], names[1::2]], 1):
        file, entries, packed = f"model-{shard:05}-of-00002.safetensors", {}, b""
        for name in part:
            piece = data[slice(*header[name]["data_offsets"])]
            entries[name] = {**header[name], "data_offsets": [len(packed), len(packed) + len(piece)]}
            packed, index[name] = packed + piece, file
        text = json.dumps(entries).encode()
        (directory / "model" / file).write_bytes(struct.pack("<Q", len(text)) + text + packed)
    (directory / "model" / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": len(data)}, "weight_map": index}))
    whole.unlink()


def make_language_model_run(directory, run):
    (directory / "text.txt").write_text(WORDS * 40)
    run(["train", "--train-text", directory / "text.txt", "--eval-text", directory / "text.txt", "--attention", "window(8) | stride(8)", *TINY,
         "--steps", "2", "--out", directory / "run"])


def language_model_commands(directory, out):
    return [["info", directory / "run"], ["eval", directory / "run", "--text", directory / "text.txt", "--context", "16"],
            ["generate", directory / "run", "--prompt", "the loom", "--max-new-tokens", "3"], ["report", directory / "run", "--out", out.with_suffix(".html")],
            ["compare", directory / "run", directory / "run"], ["train", "--resume", "--out", directory / "run"],
            ["train", "--train-text", directory / "text.txt", "--model", directory / "run", "--steps", "1", *TINY[:4], "--dtype", "float32", "--out", out]]


def make_classifier_run(directory, run):
    run(encoder_arguments(directory / "model", "bert", "none"))
    (directory / "train.csv").write_text("text,label\n" + "".join(f"the loom {word},{'good' if index % 2 else 'bad'}\n"
                                                                  for index, word in enumerate(WORDS.split())))
    run(["train", "--task", "classify", "--model", directory / "model", "--train-data", directory / "train.csv", "--eval-data",
         directory / "train.csv", *FAST, "--out", directory / "run"])


def classifier_commands(directory, out):
    return [["info", directory / "run"], ["classify", directory / "run", TEXT], ["report", directory / "run", "--out", out.with_suffix(".html")],
            ["eval", directory / "run", "--task", "classify", "--data", directory / "train.csv", "--dtype", "float32"],
            ["train", "--resume", "--out", directory / "run"],
            ["train", "--task", "classify", "--model", directory / "model", "--train-data", directory / "train.csv", *FAST, "--out", out]]


def make_data(directory, run):
    (directory / "table.csv").write_text('text,label\n"the loom, well",good\n"a ""thread""",bad\n')
    (directory / "table.tsv").write_text("text\tlabel\nthe loom\tgood\nthe thread\tbad\n")
    (directory / "lines.jsonl").write_text('{"text": "the loom", "label": "good"}\n{"text": "a thread", "label": "bad"}\n')
    (directory / "words.conll").write_text((FIXTURES / "fine_tuning/words.conll").read_text())
    (directory / "squad.json").write_text(json.dumps(SQUAD))
    (directory / "genome.fa").write_text(">one\nACGTACGTNNACGT\nACGT\n>two\nGGGCCC\n")
    (directory / "genome.fa.gz").write_bytes(gzip.compress(b">one\nACGTACGTNNACGT\nACGT\n>two\nGGGCCC\n"))
    (directory / "text.txt").write_text(WORDS * 20)
    (directory / "text.txt.gz").write_bytes(gzip.compress(WORDS.encode() * 20))
    for file in QUESTIONS.values():
        shutil.copy(OPEN_ANSWERS / file, directory / file)


def data_commands(directory, out):
    files = ["table.csv", "table.tsv", "lines.jsonl", "words.conll", "squad.json", "genome.fa", "genome.fa.gz", "text.txt", "text.txt.gz"]
    train = ["train", *TINY, "--attention", "window(8)", "--steps", "1", "--out", out]
    return [*(["data", "check", directory / file] for file in files),
            *(["data", "check", directory / file, "--format", name] for name, file in QUESTIONS.items()),
            ["tokenizer", "train", directory / "text.txt", "--vocabulary-size", "300", "--out", out],
            [*train, "--train-text", directory / "text.txt.gz"], [*train, "--train-text", directory / "text.txt"]]


def make_task_data(directory, run):
    make_data(directory, run)
    for head in ("question-answering", "token-classification", "sequence-classification"):
        labels = ["--labels", "good,bad"] if head == "sequence-classification" else []
        run(encoder_arguments(directory / head, "roberta", head) + labels)


def task_data_commands(directory, out):
    return [["classify", directory / "sequence-classification", "--file", directory / "text.txt"],
            ["tag", directory / "token-classification", "--file", directory / "text.txt"],
            ["answer", directory / "question-answering", "--question", "who weaves", "--file", directory / "text.txt"],
            ["eval", directory / "question-answering", "--task", "answer", "--data", directory / "squad.json", "--dtype", "float32"],
            *(["train", "--task", task, "--model", directory / "token-classification", "--train-data", directory / QUESTIONS[task], *FAST, "--out",
               out.with_name(f"{out.name}-{task}")] for task in ("hotpotqa", "nq", "wikihop"))]


def png(rows):
    """8-bit RGB, without filters."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))) + chunk(b"IEND", b"")


def make_pictures(directory, run):
    rows = [bytes((31 * row + 7 * column) % 256 for column in range(9)) for row in range(4)]
    pictures = directory / "pictures"
    pictures.mkdir()
    (pictures / "one.png").write_bytes(png(rows))
    (pictures / "two.ppm").write_bytes(b"P6 3 4 255\n" + b"".join(rows))
    run(["train", "--train-images", pictures, "--position-embedding", "picture", "--attention", "strided(9)", *TINY[2:], "--steps", "2",
         "--out", directory / "run"])


def picture_commands(directory, out):
    pictures = directory / "pictures"
    return [["eval", directory / "run", "--images", pictures], ["eval", directory / "run", "--images", pictures / "two.ppm"],
            ["generate", directory / "run", "--image", pictures / "one.png", "--keep-rows", "2", "--output", out.with_suffix(".png")],
            ["train", "--train-images", pictures, "--position-embedding", "picture", "--attention", "strided(9)", *TINY[2:], "--steps", "1", "--out", out]]


def tokenizer(folder, *flags):
    def make(directory, run):
        for file in folder.iterdir():
            if not file.name.startswith("cases.json"):
                shutil.copy(file, directory / file.name)

    return Seed(make, lambda directory, out: [["tokenize", directory, TEXT], ["tokenize", directory, "\u7a93 \U0001f600 caf\u00e9 ... 123", *flags]])


def make_graph(directory, run):
    entries = [(row, column) for row in range(1, 17) for column in range(1, 17) if (row * column) % 3 == 0]
    lines = "".join(f"{row} {column}\n" for row, column in entries)
    (directory / "graph.mtx").write_text(f"%%MatrixMarket matrix coordinate pattern general\n16 16 {len(entries)}\n{lines}")


def graph_commands(directory, out):
    expression = 'edges("graph.mtx")'  # relative to the working directory, which is the copy
    return [["pattern", "show", expression, "--length", "16"], ["pattern", "stats", f"{expression} | window(1)", "--length", "16"]]


def make_tensors(directory, run):
    run(encoder_arguments(directory / "model", "bert", "masked-lm"))
    write_safetensors(directory / "input.safetensors", input_ids=[[2, 5, 6, 3], [2, 7, 3, 0]], attention_mask=[[1, 1, 1, 1], [1, 1, 1, 0]])


def tensor_commands(directory, out):
    return [["forward", directory / "model", "--input", directory / "input.safetensors", "--output", out]]


def make_gpt2(directory, run):
    """The directory of a fixture, whose weights have a name before theirs."""
    content = (FIXTURES / "gpt2/released.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header, data = json.loads(content[8:8 + length]), content[8 + length:]
    (directory / "model").mkdir()
    (directory / "model" / "config.json").write_text(header["__metadata__"]["config"])
    entries, packed = {}, b""
    for name, entry in header.items():
        if name.startswith("weights/"):
            piece = data[slice(*entry["data_offsets"])]
            entries[name.removeprefix("weights/")] = entry | {"data_offsets": [len(packed), len(packed) + len(piece)]}
            packed += piece
    text = json.dumps(entries).encode()
    (directory / "model" / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + packed)
    write_safetensors(directory / "input.safetensors", input_ids=[[2, 5, 6, 3], [2, 7, 3, 0]])


def gpt2_commands(directory, out):
    model, ids = directory / "model", directory / "input.safetensors"
    return [["info", model, "--check-tensors"], ["generate", model, "--max-new-tokens", "3", "--input", ids, "--output", out]]


SEEDS = {
    "fill-mask": encoder("bert", "masked-lm", lambda model, out: [["fill-mask", model, "the [MASK] weaves"], ["tokenize", model, TEXT]]),
    "embed": encoder("longformer", "none", lambda model, out: [["embed", model, TEXT, "--json"]]),
    "sentence": Seed(make_sentence, lambda directory, out: [["info", directory / "model"], ["embed", directory / "model", TEXT, "--json"]]),
    "classify": encoder("big_bird", "sequence-classification", lambda model, out: [["classify", model, TEXT]]),
    **{f"config-{family}": encoder(family, "sequence-classification", lambda model, out: [["classify", model, TEXT]]) for family in CONFIGS},
    "config-gpt2": Seed(make_gpt2, gpt2_commands),
    "embed-pieces": encoder("xlm-roberta", "none", lambda model, out: [["embed", model, TEXT, "--json"], ["tokenize", model, TEXT]]),
    "tag": encoder("roberta", "token-classification", lambda model, out: [["tag", model, TEXT]]),
    "shards": Seed(make_shards, lambda directory, out: [["info", directory / "model", "--tensors"], ["fill-mask", directory / "model", "a [MASK]"]]),
    "language-model-run": Seed(make_language_model_run, language_model_commands),
    "classifier-run": Seed(make_classifier_run, classifier_commands),
    "data": Seed(make_data, data_commands),
    "task-data": Seed(make_task_data, task_data_commands),
    "graph": Seed(make_graph, graph_commands),
    "pictures": Seed(make_pictures, picture_commands),
    "tensors": Seed(make_tensors, tensor_commands),
    **{f"tokenizer-{name}": tokenizer(TOKENIZERS / name) for name in ("bert", "roberta", "big_bird", "deberta", "json")},
    **{f"pair-{name}": tokenizer(FIXTURES / "pairs" / name, "--as-target") for name in ("marian-separate", "pegasus")},
}
