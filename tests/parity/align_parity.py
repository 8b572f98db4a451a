#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`weft align` against the cross-attentions of transformers: Marian and BART with random weights.

For every layer, for all heads and single ones, for the step that writes a token and the step that reads it: the links are those of the largest weight, and
the probabilities differ by at most 1e-5. Here words are found by other means: by SentencePiece's visible blanks and by the offsets of a fast tokeniser.
"""
import itertools
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import torch
import transformers as hf

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/parity"))

import encoder_parity as shared  # noqa: E402

report = shared.report
EXACT = 1e-5
WORDS = "the loom weaves a thread , man walks over bridge . Hello world: we'll see 12 o'clock der Webstuhl webt den Faden Brücke Fluß 😀 twice!".split()
SHAPE = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48,
         "decoder_ffn_dim": 48, "max_position_embeddings": 128, "attn_implementation": "eager"}


def randomised(kind, config):
    """A model whose every number is the same each time: positions and norms as the class begins, all else large."""
    torch.manual_seed(5)
    model = kind(config)
    for name, parameter in model.named_parameters():
        if "embed_positions" not in name and "norm" not in name:
            parameter.data = 0.4 * torch.randn(parameter.shape)
    return model.eval()


def words_by_blanks(vocabulary, ids):
    """A piece with a visible blank begins a word; the last token is the end."""
    pieces, words, word = {id: piece for piece, id in vocabulary.items()}, [], -1
    for id in ids[:-1]:
        word += pieces[id].startswith("▁") or word < 0
        words.append(word)
    return [*words, -1]


def words_by_offsets(text, encoding):
    """A token lies in the word that ends behind it; the first and the last are special."""
    ends, at = [], 0
    for word in text.split():
        at = text.index(word, at) + len(word)
        ends.append(at)
    return [-1, *(next(i for i, last in enumerate(ends) if end <= last) for _, end in encoding["offset_mapping"][1:-1]), -1]


def make_marian(folder):
    for file in (ROOT / "tests/fixtures/pairs/marian-separate").iterdir():
        if file.name != "cases.json":
            shutil.copy(file, folder)
    tokenizer = hf.MarianTokenizer.from_pretrained(folder)
    vocabularies = [json.loads((folder / name).read_text()) for name in ("vocab.json", "target_vocab.json")]
    sizes = [len(vocabulary) + 1 for vocabulary in vocabularies]
    pad = tokenizer.pad_token_id
    config = hf.MarianConfig(vocab_size=sizes[0], decoder_vocab_size=sizes[1], share_encoder_decoder_embeddings=False, pad_token_id=pad, eos_token_id=0,
                             decoder_start_token_id=pad, **SHAPE)
    model = randomised(hf.MarianMTModel, config)
    model.save_pretrained(folder)

    def sides(source, target):
        first, second = tokenizer(source).input_ids, tokenizer(text_target=target).input_ids
        return first, words_by_blanks(vocabularies[0], first), second, words_by_blanks(vocabularies[1], second)
    return model, sides


def make_bart(folder):
    for file in (ROOT / "tests/fixtures/tokenizers/roberta").iterdir():
        if file.is_file() and file.name != "cases.json":
            shutil.copy(file, folder)
    tokenizer = hf.RobertaTokenizerFast.from_pretrained(folder)
    config = hf.BartConfig(vocab_size=len(tokenizer) + 4, pad_token_id=tokenizer.pad_token_id, bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
                           decoder_start_token_id=tokenizer.eos_token_id, **SHAPE)
    model = randomised(hf.BartForConditionalGeneration, config)
    model.save_pretrained(folder)

    def sides(source, target):
        first, second = (tokenizer(text, return_offsets_mapping=True) for text in (source, target))
        return first.input_ids, words_by_offsets(source, first), second.input_ids, words_by_offsets(target, second)
    return model, sides


def weights_of(model, source, target):
    start = model.config.decoder_start_token_id
    with torch.no_grad():
        return model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([[start, *target]]), output_attentions=True).cross_attentions


def expected_links(weights, source_words, target_words, shift):
    """{(source word, target word): share}; `weights` [N, S]."""
    links = {}
    valid = torch.tensor([word >= 0 for word in source_words])
    for token, word in enumerate(target_words):
        if word < 0:
            continue
        row = weights[token + shift]
        best = source_words[row.masked_fill(~valid, -1.0).argmax().item()]
        share = sum(row[i].item() for i, source_word in enumerate(source_words) if source_word == best)
        links[best, word] = max(links.get((best, word), 0.0), share)
    return links


def found_links(folder, pairs, layer, head, shift):
    with tempfile.TemporaryDirectory() as place:
        for name, texts in zip(("source", "target"), zip(*pairs)):
            (pathlib.Path(place) / name).write_text("".join(text + "\n" for text in texts), encoding="utf-8")
        more = ([] if head is None else ["--heads", str(head)]) + (["--shift"] if shift else [])
        lines = subprocess.run([shared.WEFT, "align", folder, "--source", f"{place}/source", "--target", f"{place}/target", "--layer", str(layer), "--json", *more],
                               check=True, capture_output=True, text=True).stdout.splitlines()
    for line in map(json.loads, lines):
        assert not line["metadata"]["one_by_one"]
        yield {(link["source"], link["target"]): link["probability"] for link in line["result"]["links"]}


def compare(read, weights, found, layer, head, shift):
    """(how many links, whether they are the same, the largest difference of their shares)"""
    largest, same, count = 0.0, True, 0
    for (_, source_words, _, target_words), given, links in zip(read, weights, found):
        of_pair = given[layer][0].mean(0) if head is None else given[layer][0][head]
        expected = expected_links(of_pair, source_words, target_words, shift)
        same, count = same and expected.keys() == links.keys(), count + len(expected)
        largest = max([largest, *(abs(links[link] - share) for link, share in expected.items() if link in links)])
    return count, same, largest


def check(name, make):
    chosen = random.Random(11)
    pairs = [tuple(" ".join(chosen.choice(WORDS) for _ in range(chosen.randint(1, 17))) for _ in range(2)) for _ in range(40)]
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        model, sides = make(folder)
        read = [sides(*pair) for pair in pairs]
        weights = [weights_of(model, source, target) for source, _, target, _ in read]
        for layer, head, shift in itertools.product(range(SHAPE["decoder_layers"]), (None, 0, 3), (False, True)):
            count, same, largest = compare(read, weights, found_links(folder, pairs, layer, head, shift), layer, head, shift)
            report(same and largest <= EXACT, f"{name}, layer {layer}, {'all heads' if head is None else f'head {head}'}, "
                                              f"{'reading' if shift else 'writing'} step: {count} links, largest difference {largest:.1e}")


def main():
    hf.utils.logging.disable_progress_bar()
    check("marian", make_marian)
    check("bart", make_bart)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
