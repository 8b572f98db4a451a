# SPDX-License-Identifier: Apache-2.0
"""Ids, offsets, types, windows and decoded text against the tokenisers of transformers: 10,000 lines of books, captions and code, and as many texts of
fuzzed Unicode, for each vocabulary; empty and long texts and each control character besides.

Vocabularies come from WEFT_DATA/tokenizers, or are made or trained by cases/vocabularies.py; lines from WEFT_DATA/books and WEFT_DATA/multi30k. Without WEFT_DATA
there is nothing to compare.
Usage: tests/parity/tokenizers_parity.py [--count TEXTS] [--seed S] [NAME...]
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from transformers import (BertTokenizer, BigBirdTokenizer, CamembertTokenizer, DistilBertTokenizer, ElectraTokenizer, EsmTokenizer, GPT2Tokenizer,
                          MBart50Tokenizer, MPNetTokenizer, NllbTokenizer, PreTrainedTokenizerFast, RobertaTokenizer, T5Tokenizer, XLMRobertaTokenizer)

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/parity"))

from cases import vocabularies  # noqa: E402

PROGRAM = os.environ.get("WEFT_TEST_TEXT", str(ROOT / "build/release/bin/test_text"))
MASK = {"lstrip": True, "rstrip": False, "single_word": False, "normalized": False}
ROBERTA_FILES = {"roberta-base-vocab.json": "vocab.json", "gpt2-roberta-merges.txt": "merges.txt"}
BIG_BIRD_FILES = {"bigbird_gpt2.model": "spiece.model"}
FAIRSEQ_FILES = {"spm_test_model.model": "sentencepiece.bpe.model"}
CASES = {
    "bert-uncased": (BertTokenizer, {"bert-base-uncased-vocab.txt": "vocab.txt"}, {}),
    "bert-cased": (BertTokenizer, {"bert-base-cased-vocab.txt": "vocab.txt"}, {
        "tokenizer_config.json": {"do_lower_case": False, "added_tokens_decoder": {
            "0": {"content": "[PAD]", "special": True},
            "103": {"content": "[MASK]", "special": True, **MASK},
            "28996": {"content": "<new>", "special": False, "normalized": True},
        }}}),
    "bert-accents": (BertTokenizer, {"bert-base-uncased-vocab.txt": "vocab.txt"}, {
        "tokenizer_config.json": {"strip_accents": False, "tokenize_chinese_chars": False},
        "special_tokens_map.json": {"mask_token": {"content": "[M]", **MASK}, "additional_special_tokens": ["[X]", "the"]}}),
    "roberta": (RobertaTokenizer, ROBERTA_FILES, {}),
    "roberta-mask": (RobertaTokenizer, ROBERTA_FILES, {
        "tokenizer_config.json": {"add_prefix_space": True},
        "special_tokens_map.json": {"mask_token": {"content": "<mask>", **MASK}}, "added_tokens.json": {"<ent>": 50265}}),
    "big_bird": (BigBirdTokenizer, BIG_BIRD_FILES, {}),
    "big_bird-mask": (BigBirdTokenizer, BIG_BIRD_FILES, {
        "tokenizer_config.json": {"added_tokens_decoder": {"67": {"content": "[MASK]", "special": True, **MASK}}}}),
    "xlm-roberta": (XLMRobertaTokenizer, FAIRSEQ_FILES, {
        "tokenizer_config.json": {"tokenizer_class": "XLMRobertaTokenizer"},
        "special_tokens_map.json": {"mask_token": {"content": "<mask>", **MASK}}}),
    "camembert": (CamembertTokenizer, FAIRSEQ_FILES, {"tokenizer_config.json": {"tokenizer_class": "CamembertTokenizer"}}),
    "camembert-config": (CamembertTokenizer, FAIRSEQ_FILES, {"config.json": {"model_type": "camembert"}}),
    "distilbert": (DistilBertTokenizer, {"bert-base-cased-vocab.txt": "vocab.txt"}, {
        "tokenizer_config.json": {"tokenizer_class": "DistilBertTokenizer", "do_lower_case": False}}),
    "electra": (ElectraTokenizer, {"bert-base-uncased-vocab.txt": "vocab.txt"}, {"config.json": {"model_type": "electra"}}),
    "nomic_bert": (BertTokenizer, {"bert-base-uncased-vocab.txt": "vocab.txt"}, {"config.json": {"model_type": "nomic_bert"}}),
    "jina_bert": (BertTokenizer, {"bert-base-uncased-vocab.txt": "vocab.txt"}, {"config.json": {"model_type": "bert", "position_embedding_type": "alibi"}}),
    "gpt2": (GPT2Tokenizer, {"gpt2-vocab.json": "vocab.json", "gpt2-roberta-merges.txt": "merges.txt"}, {"tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer"}}),
    "esm": (EsmTokenizer, {str(ROOT / "tests/fixtures/tokenizers/esm/vocab.txt"): "vocab.txt"}, {"tokenizer_config.json": {"tokenizer_class": "EsmTokenizer"}}),
    "t5-released": (PreTrainedTokenizerFast, {"t5-small-tokenizer.json": "tokenizer.json"}, {}),
    "mbart": (vocabularies.MBart, FAIRSEQ_FILES, {"tokenizer_config.json": {"tokenizer_class": "MBartTokenizer", "src_lang": "de_DE"}}),
    "mbart50": (MBart50Tokenizer, FAIRSEQ_FILES, {"tokenizer_config.json": {"tokenizer_class": "MBart50Tokenizer", "src_lang": "de_DE"}}),
}


def made_cases(data):
    """Class and files of families whose vocabularies are not at hand."""
    released = data / "tokenizers"
    fairseq = {"sentencepiece.bpe.model": vocabularies.pieces_of_captions(data)}
    t5, bytes_too = vocabularies.t5(data), vocabularies.t5(data, byte_fallback=True)
    with tempfile.TemporaryDirectory() as folder:
        nllb = vocabularies.nllb(data, pathlib.Path(folder))
    deberta = vocabularies.deberta(data)
    return {
        "mpnet": (MPNetTokenizer, {"vocab.txt": vocabularies.mpnet((released / "bert-base-uncased-vocab.txt").read_bytes())}
                  | {"tokenizer_config.json": {"tokenizer_class": "MPNetTokenizer"}}),
        "modernbert": (PreTrainedTokenizerFast, vocabularies.modernbert((released / "gpt2-vocab.json").read_bytes(), (released / "gpt2-roberta-merges.txt").read_bytes())),
        "t5": (T5Tokenizer, {"spiece.model": t5, "tokenizer_config.json": {"tokenizer_class": "T5Tokenizer"}}),
        "mt5": (T5Tokenizer, {"spiece.model": bytes_too, "tokenizer_config.json": {"tokenizer_class": "T5Tokenizer", "extra_ids": 0}}),
        "umt5": (T5Tokenizer, {"spiece.model": bytes_too, "tokenizer_config.json": {"tokenizer_class": "T5Tokenizer", "extra_ids": 300}}),
        "xlm-roberta-trained": (XLMRobertaTokenizer, fairseq | {"tokenizer_config.json": {"tokenizer_class": "XLMRobertaTokenizer"},
                                                               "special_tokens_map.json": {"mask_token": {"content": "<mask>", **MASK}}}),
        "camembert-trained": (CamembertTokenizer, fairseq | {"tokenizer_config.json": {"tokenizer_class": "CamembertTokenizer"}}),
        "mbart-trained": (vocabularies.MBart, fairseq | {"tokenizer_config.json": {"tokenizer_class": "MBartTokenizer", "src_lang": "cs_CZ"}}),
        "mbart50-trained": (MBart50Tokenizer, fairseq | {"tokenizer_config.json": {"tokenizer_class": "MBart50Tokenizer", "src_lang": "fr_XX"}}),
        "nllb": (NllbTokenizer, nllb),
        "eurobert": (PreTrainedTokenizerFast, vocabularies.eurobert(data)),
        "deberta": (vocabularies.DebertaV2, deberta | {"tokenizer_config.json": {"do_lower_case": False, "vocab_type": "spm"}}),
        "deberta-rules": (vocabularies.DebertaV2, deberta | {"tokenizer_config.json": {"do_lower_case": True, "split_by_punct": True}}),
    }


def cases(data):
    found = {name: (kind, {target: (data / "tokenizers" / source).read_bytes() for source, target in files.items()} | extra)
             for name, (kind, files, extra) in CASES.items()}
    return found | made_cases(data)


PIECES = (
    ["a", "B", "hello", " ", "  ", "\n", "\t", "\r\n", "\u00a0", "\u3000", "é", "e\u0301", "Å", "ß", "İ", "ı", "中文", "日本", "한국", "ไทย"]
    + ["😀", "👩‍👩‍👧", "🇫🇷", "\u200b", "\u200d", "\ufeff", "\ufffd", "\x00", "\x01", "\x7f", "\u0085", "\u2028", "\uffff", "\U0010ffff"]
    + ["<s>", "</s>", "<mask>", "[MASK]", "[CLS]", "[SEP]", "<pad>", "[X]", "<new>", "<ent>", "[M]", "▁", "Ġ", "##ing", "<0x41>"]
    + ["1", "23", "3.14", ",", "...", "'s", "'ll", "don't", "-", "—", "«", "…", "ﬁ", "½", "Ⅷ", "ｆｕｌｌ", "مرحبا", "שלום", "नमस्ते", "\u0300"]
)


def random_text(generator, longest=30):
    text = ""
    for _ in range(generator.randrange(longest)):
        kind = generator.random()
        if kind < 0.8:
            text += generator.choice(PIECES)
        else:
            point = generator.randrange(0x110000 if kind > 0.9 else 0x3000)
            text += "" if 0xD800 <= point < 0xE000 else chr(point)
    return text


def random_request(generator, lines):
    text = generator.choice(lines) if generator.random() < 0.3 else random_text(generator)
    request = {"text": text, "special_tokens": generator.random() < 0.8}
    if generator.random() < 0.4:
        request["pair"] = random_text(generator) or "x"
    if generator.random() < 0.5:
        request["max_length"] = generator.randrange(8, 40)
        request["stride"] = generator.randrange(0, 4)
        request["truncation"] = generator.choice(["longest_first", "only_first"] + (["only_second"] if "pair" in request else []))
    return request


def reference(tokenizer, request):
    """What transformers makes of a request, in the same shape; None when it refuses. Its tokenisers in Python give ids alone."""
    if not tokenizer.is_fast:
        return {"windows": [{"input_ids": tokenizer(request["text"], request.get("pair"), add_special_tokens=request["special_tokens"])["input_ids"]}]}
    limit = request.get("max_length", 0)
    options = {"truncation": request["truncation"], "max_length": limit, "stride": request["stride"]} if limit else {}
    try:
        result = tokenizer(
            [request["text"]], [request["pair"]] if "pair" in request else None, return_overflowing_tokens=True,
            return_offsets_mapping=True, return_special_tokens_mask=True, return_token_type_ids=True,
            add_special_tokens=request["special_tokens"], **options)
    except BaseException as error:  # noqa: B902: a panic of the Rust part is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return None
    windows = []
    for index, encoding in enumerate(result.encodings):
        special = result["special_tokens_mask"][index]
        windows.append({
            "input_ids": result["input_ids"][index],
            "token_type_ids": result["token_type_ids"][index],
            "special_tokens_mask": special,
            "offset_mapping": [list(span) for span in result["offset_mapping"][index]],
            "words": [-1 if word is None else word for word in encoding.word_ids],
            "sequences": [-1 if sequence is None else sequence for sequence in encoding.sequence_ids],
        })
    ids = windows[0]["input_ids"]
    backend = tokenizer.backend_tokenizer
    return {"windows": windows, "decoded": backend.decode(ids, skip_special_tokens=False), "skipped": backend.decode(ids)}


def byte_offsets(request, window):
    spans = []
    for (begin, end), sequence in zip(window["offset_mapping"], window["sequences"]):
        text = request["pair"] if sequence == 1 else request["text"]
        spans.append([0, 0] if sequence < 0 else [len(text[:begin].encode()), len(text[:end].encode())])
    return spans


def difference(request, found, expected):
    """What is not as it should be, or None."""
    if expected is None or "error" in found:
        return None if expected is None and "error" in found else f"one of the two refuses: {found.get('error')}"
    if len(found["windows"]) != len(expected["windows"]):
        return f"{len(found['windows'])} windows, expected {len(expected['windows'])}"
    for ours, theirs in zip(found["windows"], expected["windows"]):
        if ours.pop("byte_offsets") != byte_offsets(request, ours):
            return "byte offsets"
        for key, value in theirs.items():
            if ours[key] != value:
                return f"{key}: {ours[key]}, expected {value}"
    for key in ("decoded", "skipped"):
        if found[key] != expected.get(key, found[key]):
            return f"{key}: {found[key]!r}, expected {expected[key]!r}"
    return None


def answers(directory, requests):
    lines = directory / "requests.jsonl"
    lines.write_text("".join(json.dumps(request) + "\n" for request in requests))
    environment = os.environ | {"WEFT_TEST_MODEL": str(directory), "WEFT_TEST_IN": str(lines), "WEFT_TEST_OUT": str(directory / "answers.jsonl")}
    subprocess.run([PROGRAM, "--gtest_filter=HuggingFace.ForParity"], env=environment, check=True, capture_output=True)
    return [json.loads(line) for line in (directory / "answers.jsonl").open(encoding="utf-8")]


def write(directory, files):
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        if not isinstance(content, bytes):
            content = (json.dumps(content, ensure_ascii=False, indent=0) + "\n").encode()
        (directory / name).write_bytes(content)


def compare(name, tokenizer_class, files, requests):
    with tempfile.TemporaryDirectory() as folder:
        directory = pathlib.Path(folder)
        write(directory, files)
        tokenizer = tokenizer_class.from_pretrained(directory)
        if not tokenizer.is_fast:  # which do not cut a text into windows
            requests = [{name: value for name, value in request.items() if name in ("text", "pair", "special_tokens")} for request in requests]
        first, *found = answers(directory, requests)
    failures = [] if first["vocabulary_size"] == len(tokenizer) else [f"vocabulary of {first['vocabulary_size']}, expected {len(tokenizer)}"]
    for request, answer in zip(requests, found, strict=True):
        problem = difference(request, answer, reference(tokenizer, request))
        if problem:
            failures.append(f"{request!r}: {problem}")
    print(f"{name}: {len(requests)} texts, {len(failures)} differ", flush=True)
    for failure in failures[:3]:
        print(f"  {failure[:600]}")
    return len(failures)


def hard_texts(lines):
    """Empty and long ones, words that are longer than a model takes, and each control character inside and around a word."""
    controls = [chr(point) for point in (*range(0x20), *range(0x7f, 0xa1), 0xad, *range(0x200b, 0x2010), *range(0x2028, 0x2030), 0x2060, 0xfeff, 0xfff9)]
    texts = ["", " ", "\n\n", "a" * 5000, "\u4e2d" * 3000, "e\u0301" * 2000, " " * 3000, "".join(controls), " ".join(PIECES * 30), "\n".join(lines[:600])]
    return texts + [text for control in controls for text in (control, f"a{control}b", f"{control} the {control}")]


def drawn_lines(data, generator, count):
    """Lines of books, captions of four languages, and code and documents of this project, a third each."""
    books = sorted((data / "books/train").glob("*.md"))
    code = [path for folder in ("src", "rust", "docs", "tests/cli") for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".cpp", ".h", ".rs", ".md", ".py")]
    sources = [[line for path in paths for line in path.read_text(encoding="utf-8").splitlines() if line.strip()] for paths in (books[:20], code)]
    sources.append(vocabularies.captions(data))
    return [line for source in sources for line in generator.sample(source, min(-(-count // 3), len(source)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="vocabularies; without them all")
    parser.add_argument("--count", type=int, default=10_000, help="texts of both kinds")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    if "WEFT_DATA" not in os.environ:
        print("tokenizers_parity: skipped, WEFT_DATA is not set")
        return 0
    print(f"seed {options.seed}", flush=True)
    data, generator = pathlib.Path(os.environ["WEFT_DATA"]), random.Random(options.seed)
    lines = drawn_lines(data, generator, options.count)
    requests = [{"text": text, "special_tokens": True} for text in [*lines, *hard_texts(lines)]]
    requests += [random_request(generator, lines) for _ in range(options.count)]
    return 1 if sum(compare(name, *case, requests) for name, case in cases(data).items() if not options.names or name in options.names) else 0


if __name__ == "__main__":
    sys.exit(main())
