# SPDX-License-Identifier: Apache-2.0
"""Ids, offsets, types, windows and decoded text against the tokenisers of transformers, on books and on fuzzed Unicode.

Vocabularies come from WEFT_DATA/tokenizers and lines from WEFT_DATA/books; without WEFT_DATA there is nothing to compare.
Usage: tests/parity/tokenizers_parity.py [LINES]
"""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

from transformers import BertTokenizer, BigBirdTokenizer, CamembertTokenizer, DistilBertTokenizer, ElectraTokenizer, MPNetTokenizer, PreTrainedTokenizerFast, RobertaTokenizer, XLMRobertaTokenizer

ROOT = pathlib.Path(__file__).resolve().parents[2]
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
    "mpnet": (MPNetTokenizer, {str(ROOT / "tests/fixtures/tokenizers/mpnet" / name): name for name in ("vocab.txt", "tokenizer_config.json")}, {}),
    # No vocabulary of it is at hand: a small one of the same parts.
    "modernbert": (PreTrainedTokenizerFast, {str(ROOT / "tests/fixtures/tokenizers/modernbert" / name): name for name in ("tokenizer.json", "tokenizer_config.json")}, {}),
    "t5": (PreTrainedTokenizerFast, {"t5-small-tokenizer.json": "tokenizer.json"}, {}),
}
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
    """What transformers makes of a request, in the same shape; None when it refuses."""
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
        if found[key] != expected[key]:
            return f"{key}: {found[key]!r}, expected {expected[key]!r}"
    return None


def answers(directory, requests):
    lines = directory / "requests.jsonl"
    lines.write_text("".join(json.dumps(request) + "\n" for request in requests))
    environment = os.environ | {"WEFT_TEST_MODEL": str(directory), "WEFT_TEST_IN": str(lines), "WEFT_TEST_OUT": str(directory / "answers.jsonl")}
    subprocess.run([PROGRAM, "--gtest_filter=HuggingFace.ForParity"], env=environment, check=True, capture_output=True)
    return [json.loads(line) for line in (directory / "answers.jsonl").open(encoding="utf-8")]


def compare(name, data, requests):
    tokenizer_class, files, extra = CASES[name]
    with tempfile.TemporaryDirectory() as folder:
        directory = pathlib.Path(folder)
        for source, target in files.items():
            shutil.copy(data / "tokenizers" / source, directory / target)
        for target, content in extra.items():
            (directory / target).write_text(json.dumps(content))
        tokenizer = tokenizer_class.from_pretrained(directory)
        first, *found = answers(directory, requests)
    failures = [] if first["vocabulary_size"] == len(tokenizer) else [f"vocabulary of {first['vocabulary_size']}, expected {len(tokenizer)}"]
    for request, answer in zip(requests, found, strict=True):
        problem = difference(request, answer, reference(tokenizer, request))
        if problem:
            failures.append(f"{request!r}: {problem}")
    print(f"{name}: {len(requests)} texts, {len(failures)} differ")
    for failure in failures[:3]:
        print(f"  {failure[:600]}")
    return len(failures)


def main():
    data = os.environ.get("WEFT_DATA")
    if data is None:
        print("tokenizers_parity: skipped, WEFT_DATA is not set")
        return 0
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    generator = random.Random(seed)
    books = sorted((pathlib.Path(data) / "books/train").glob("*.md"))
    lines = [line for book in books[:20] for line in book.read_text(encoding="utf-8").splitlines() if line.strip()]
    requests = [{"text": line, "special_tokens": True} for line in generator.sample(lines, min(count, len(lines)))]
    requests += [random_request(generator, lines) for _ in range(count)]
    return 1 if sum(compare(name, pathlib.Path(data), requests) for name in CASES) else 0


if __name__ == "__main__":
    sys.exit(main())
