# SPDX-License-Identifier: Apache-2.0
"""Undamaged encoder-decoder directories for mutants.py, of every family with its tokeniser, texts to translate, and files to score."""

import gzip
import json
import shutil

from seed_directories import FIXTURES, TOKENIZERS, Seed, write_safetensors

SHAPE = ["--d-model", "16", "--encoder-layers", "2", "--decoder-layers", "1", "--encoder-attention-heads", "2", "--decoder-attention-heads", "2",
         "--encoder-ffn-dim", "16", "--decoder-ffn-dim", "16", "--max-source-positions", "48"]
LARGE = ["--init-std", "0.3"]
FAMILIES = {
    "marian": ("pairs/marian-codes", LARGE),
    "bart": ("tokenizers/roberta", LARGE),
    "pegasus": ("pairs/pegasus", LARGE),
    "bigbird_pegasus": ("pairs/bigbird_pegasus", ["--block-size", "4", "--num-random-blocks", "1", *LARGE]),
    "led": ("tokenizers/roberta", ["--attention-window", "8", "--max-target-positions", "20", *LARGE]),
    "t5": ("languages/t5", ["--d-kv", "8"]),
    "umt5": ("languages/t5", ["--d-kv", "8", "--feed-forward-proj", "gated-gelu"]),
    "longt5": ("languages/t5", ["--d-kv", "8", "--local-radius", "5"]),
    "mbart": ("languages/mbart", LARGE),
    "m2m_100": ("languages/m2m_100", LARGE),
}
TARGETS = {"marian": "de", "mbart": "en_XX", "m2m_100": "en"}
FRAMED = ("mbart", "m2m_100")  # whose texts are not aligned
SETTINGS = {"num_beams": 2, "max_length": 8, "early_stopping": True, "length_penalty": 0.8, "no_repeat_ngram_size": 2, "bad_words_ids": [[3], [4, 5]],
            "sequence_bias": [[[6], -2.5]], "suppress_tokens": [5], "forced_eos_token_id": 0, "renormalize_logits": True, "max_new_tokens_per_source": "2:16",
            "exponential_decay_length_penalty": [4, 1.1]}
LINES = ["The loom weaves the thread. Hello, world!", "", "A man walks over the bridge.", "\u00bfQu\u00e9? \u7a93 \U0001f600 e.g. Dr. Who ... 3.14"]
RUN = ["--width", "16", "--layers", "1", "--heads", "2", "--encoder-ffn-dim", "24", "--decoder-ffn-dim", "24", "--vocabulary-size", "270", "--batch-tokens", "64",
       "--dtype", "float32", "--threads", "1", "--steps", "2", "--max-source-positions", "64", "--max-target-positions", "64"]


def write_texts(directory):
    (directory / "lines.txt").write_text("\n".join(LINES) + "\n")
    (directory / "lines.txt.gz").write_bytes(gzip.compress("\n".join(LINES).encode()))
    (directory / "lines.jsonl").write_text("".join(json.dumps({"text": line, "number": number}) + "\n" for number, line in enumerate(LINES)))
    (directory / "pairs.tsv").write_text("source\ttarget\n" + "".join(f"{line}\t{line}\n" for line in LINES if line))
    (directory / "gold.pharaoh").write_text("0-0 1?1\n\n0-1 1p2\n0-0\n")
    (directory / "table.csv").write_text("number,text\n" + "".join(f'{number},"{line}"\n' for number, line in enumerate(LINES)))


def make_family(family):
    tokenizer, own = FAMILIES[family]

    def make(directory, run):
        run(["init", "--family", family, "--tokenizer", FIXTURES / tokenizer, *SHAPE, *own, "--out", directory / "model"])
        config = json.loads((directory / "model" / "config.json").read_text())
        settings = {**SETTINGS, "forced_eos_token_id": config["eos_token_id"]}
        settings |= {name: config[name] for name in ("eos_token_id", "pad_token_id", "decoder_start_token_id")}
        (directory / "model" / "generation_config.json").write_text(json.dumps(settings))
        write_texts(directory)
        write_safetensors(directory / "sources.safetensors", input_ids=[[7, 8, 9, 10], [11, 12, 1, 1]], attention_mask=[[1, 1, 1, 1], [1, 1, 0, 0]])
        write_safetensors(directory / "pair.safetensors", input_ids=[[7, 8, 9, 10]], decoder_input_ids=[[7, 8]])

    return make


def family_commands(family):
    code = ["--target-lang", TARGETS[family]] if family in TARGETS else []
    from_code = ["--source-lang", "fr"] if family == "marian" else []

    def align(model, directory):
        return [["align", model, *code, "--source", directory / "lines.txt", "--target", directory / "lines.txt", "--gold", directory / "gold.pharaoh",
                 "--reverse", model, *from_code, "--skip-long"],
                ["align", model, *code, "--file", directory / "pairs.tsv", "--layer", "0", "--shift", "--skip-long", "--json"]]

    def commands(directory, out):
        model = directory / "model"
        translate = ["translate", model, *code, "--max-length", "6"]
        return [["info", model, "--check-tensors"], ["tokenize", model, LINES[3], "--as-target"], ["tokenize", model, LINES[0]],
                ["translate", model, *code, LINES[0]], [*translate, "--file", directory / "lines.txt"], [*translate, "--file", directory / "lines.txt.gz", "--document"],
                [*translate, "--file", directory / "lines.jsonl", "--out", out.with_suffix(".csv")],
                [*translate, "--file", directory / "table.csv", "--json"], ["summarize", model, "--truncate", "--file", directory / "lines.txt"],
                ["generate", model, "--input", directory / "sources.safetensors", "--output", out], ["generate", model, "--print-settings"],
                *([] if family in FRAMED else align(model, directory)),
                ["forward", model, "--input", directory / "pair.safetensors", "--output", out], ["convert", model, "--length", "60", "--out", out],
                ["init", "--config", model, "--tokenizer", model, "--out", out]]

    return commands


def make_run(directory, run):
    write_texts(directory)
    lines = [line for line in LINES * 3 if line]
    (directory / "source.txt").write_text("\n".join(lines) + "\n")
    (directory / "target.txt").write_text("\n".join(reversed(lines)) + "\n")
    (directory / "pairs.tsv").write_text("".join(f"{line}\t{line}\n" for line in lines))
    (directory / "links.pharaoh").write_text("0-0 1-1\n" * len(lines))
    run([*train(directory), "--checkpoint-every", "1", "--keep-checkpoints", "2", "--out", directory / "run"])


def train(directory):
    return ["train", "--task", "translate", "--train-source", directory / "source.txt", "--train-target", directory / "target.txt",
            "--eval-source", directory / "source.txt", "--eval-target", directory / "target.txt", *RUN]


def run_commands(directory, out):
    run = directory / "run"
    return [["info", run], ["translate", run, "--max-new-tokens", "5", "--file", directory / "lines.txt"], ["summarize", run, "--max-new-tokens", "5", LINES[0]],
            ["report", run, "--out", out.with_suffix(".html")], ["train", "--resume", "--out", run], ["average", run, "--last", "2", "--out", out],
            [*train(directory), "--out", out], ["train", "--task", "translate", "--train-data", directory / "pairs.tsv", *RUN, "--out", out],
            [*train(directory), "--alignments", directory / "links.pharaoh", "--out", out]]


def make_start(directory, run):
    run(["init", "--family", "big_bird", "--tokenizer", TOKENIZERS / "big_bird", "--num-hidden-layers", "1", "--hidden-size", "16", "--num-attention-heads", "2",
         "--intermediate-size", "16", "--max-position-embeddings", "62", "--block-size", "4", "--num-random-blocks", "1", "--out", directory / "encoder"])
    run(["init", "--encoder", directory / "encoder", "--max-target-positions", "16", "--out", directory / "model"])


def start_commands(directory, out):
    return [["init", "--encoder", directory / "encoder", "--decoder-layers", "1", "--out", out], ["info", directory / "model"],
            ["summarize", directory / "model", "--truncate", "--max-new-tokens", "4", LINES[0]], ["convert", directory / "model", "--attention", "window(3)", "--out", out]]


def make_scores(directory, run):
    write_texts(directory)
    shutil.copy(directory / "lines.txt", directory / "reference.txt")
    shutil.copy(directory / "lines.jsonl", directory / "reference.jsonl")
    (directory / "found.pharaoh").write_text("0-0 1-1\n\n0-1 2-2\n0-0\n")
    (directory / "gold.pharaoh").write_text("0-0 1?1\n0-0\n0-1 1?2\n0-0\n")


def score_commands(directory, out):
    texts = [(directory / "lines.txt", directory / "reference.txt"), (directory / "lines.txt.gz", directory / "reference.txt"),
             (directory / "lines.jsonl", directory / "reference.jsonl"), (directory / "table.csv", directory / "reference.jsonl")]
    flags = [("bleu", "--confidence", "--samples", "5"), ("chrf", "--word-order", "2", "--json"), ("rouge", "--sentence-level")]
    return [*(["score", metric, *files, *more] for metric, *more in flags for files in texts),
            ["score", "aer", directory / "found.pharaoh", directory / "gold.pharaoh"]]


PAIR_SEEDS = {
    **{f"family-{family}": Seed(make_family(family), family_commands(family)) for family in FAMILIES},
    "pair-run": Seed(make_run, run_commands),
    "warm-start": Seed(make_start, start_commands),
    "scores": Seed(make_scores, score_commands),
}
