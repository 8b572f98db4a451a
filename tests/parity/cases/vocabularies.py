# SPDX-License-Identifier: Apache-2.0
"""Vocabularies of families whose published ones are not at hand: of the same class, made of published files of other families or trained on captions."""
import functools
import io
import json
import tempfile

import sentencepiece
from sentencepiece.sentencepiece_model_pb2 import ModelProto
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import DebertaV2Tokenizer, MBartTokenizer, NllbTokenizer
from transformers.convert_slow_tokenizer import DebertaV2Converter

RULES = [("Ａ", "A"), ("ﬁ", "fi"), ("…", "..."), ("\u3000", " "), ("\t", " "), ("\n", " "), ("½", "1/2"), ("\u200b", " ")]
CAPTIONS = 4000  # of each language
# How Llama 3 and EuroBERT cut words: endings, letters, up to three digits, other signs, white space.
LLAMA_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def train(lines, size, kind="unigram", **settings):
    """A SentencePiece model as a protobuf; few lines get few characters that become others, because Unicode's rules take 240 KB."""
    output = io.BytesIO()
    with tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8") as rules:
        if len(lines) < 100:
            rules.write("".join(" ".join(f"{ord(c):X}" for c in old) + "\t" + " ".join(f"{ord(c):X}" for c in new) + "\n" for old, new in RULES))
            settings = {name: value for name, value in settings.items() if name != "normalization_rule_name"} | {"normalization_rule_tsv": rules.name}
        rules.flush()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=output, vocab_size=size, model_type=kind,
                                                 hard_vocab_limit=False, minloglevel=2, **settings)
    return ModelProto.FromString(output.getvalue())


def captions(data):
    """Lines of four languages."""
    return [line for code in ("en", "de", "fr", "cs") for line in (data / f"multi30k/train.{code}").read_text(encoding="utf-8").splitlines()[:CAPTIONS]]


@functools.cache
def pieces_of_captions(data, **settings):
    return train(captions(data), 6000, num_threads=1, **settings).SerializeToString(deterministic=True)


def t5(data, **settings):
    return pieces_of_captions(data, pad_id=0, eos_id=1, unk_id=2, bos_id=-1, **settings)


def pairs_with_table(data):
    """M2M100's: a model of byte pairs, and the ids of its pieces behind fairseq's first four."""
    model = pieces_of_captions(data, kind="bpe")
    names = [piece.piece for piece in ModelProto.FromString(model).pieces]
    return {"sentencepiece.bpe.model": model, "vocab.json": {name: index for index, name in enumerate(["<s>", "<pad>", "</s>", "<unk>", *names[3:]])}}


def nllb(data, folder):
    """NLLB's as files of its own: transformers 5.23 makes it of a SentencePiece model without its codes, which are added here."""
    (folder / "sentencepiece.bpe.model").write_bytes(pieces_of_captions(data, kind="bpe"))
    tokenizer = NllbTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"additional_special_tokens": ["deu_Latn", "eng_Latn", "fra_Latn"]})
    tokenizer.src_lang = "deu_Latn"
    (folder / "sentencepiece.bpe.model").unlink()
    tokenizer.save_pretrained(folder)
    return {name: (folder / name).read_bytes() for name in ("tokenizer.json", "tokenizer_config.json")}


class MBart:
    """MBartTokenizer as it was before release 5 of transformers, which leaves out the character map of the model's file."""

    @staticmethod
    def from_pretrained(directory):
        tokenizer = MBartTokenizer.from_pretrained(directory)
        model = ModelProto.FromString((directory / "sentencepiece.bpe.model").read_bytes())
        if model.normalizer_spec.precompiled_charsmap:
            tokenizer.backend_tokenizer.normalizer = normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap)
        return tokenizer


class DebertaV2:
    """DebertaV2Tokenizer with the rules of its own converter: since release 5 it composes characters in place of the map of the model's file."""

    @staticmethod
    def from_pretrained(directory):
        tokenizer = DebertaV2Tokenizer.from_pretrained(directory)
        converter = DebertaV2Converter.__new__(DebertaV2Converter)  # its constructor wants a tokeniser of release 4
        converter.original_tokenizer = tokenizer
        tokenizer.backend_tokenizer.normalizer = converter.normalizer(ModelProto.FromString((directory / "spm.model").read_bytes()))
        return tokenizer


def deberta(data):
    """A trained model with the first pieces of the published ones."""
    return {"spm.model": pieces_of_captions(data, pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]")}


def mpnet(words):
    """MPNet's order of BERT's vocabulary."""
    return b"".join(token + b"\n" for token in [b"<s>", b"<pad>", b"</s>", b"<unk>", *words.split(b"\n")[:-1], b"<mask>"])


def modernbert(vocabulary, merges):
    """GPT-2's byte pairs behind NFC, no space in front of a text, runs of blanks as tokens, the marks of BERT."""
    pairs = [tuple(line.split(" ")) for line in merges.decode().splitlines() if not line.startswith("#version") and line]
    tokenizer = Tokenizer(models.BPE(json.loads(vocabulary), pairs))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken(" " * count, normalized=False) for count in range(24, 1, -1)] + ["|||IP_ADDRESS|||"])
    marks = ["[UNK]", "[CLS]", "[SEP]", "[PAD]"]
    tokenizer.add_special_tokens([*marks, AddedToken("[MASK]", lstrip=True, special=True)])
    ends = [(mark, tokenizer.token_to_id(mark)) for mark in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends)
    names = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]"}
    settings = names | {"tokenizer_class": "PreTrainedTokenizerFast", "model_input_names": ["input_ids", "attention_mask"], "model_max_length": 8192}
    return {"tokenizer.json": tokenizer.to_str().encode(), "tokenizer_config.json": settings}


def eurobert(data):
    """Byte pairs of words as Llama 3 cuts them, whole words first, between its marks; trained on captions."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA_WORDS), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=6000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(captions(data), trainer)
    marks = ["<|begin_of_text|>", "<|end_of_text|>", "<|mask|>", "<|parallel_sep|>", "<|pad|>"]
    tokenizer.add_special_tokens([AddedToken(mark, normalized=False, special=True, lstrip=mark == "<|mask|>") for mark in marks])
    first, last = ((mark, tokenizer.token_to_id(mark)) for mark in marks[:2])
    frame = processors.TemplateProcessing(single=f"{marks[0]} $A {marks[1]}", pair=f"{marks[0]} $A {marks[1]} $B:1 {marks[1]}:1", special_tokens=[first, last])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), frame])
    names = {"bos_token": marks[0], "eos_token": marks[1], "mask_token": marks[2], "pad_token": marks[4], "cls_token": marks[0], "sep_token": marks[1]}
    settings = names | {"tokenizer_class": "PreTrainedTokenizerFast", "model_input_names": ["input_ids", "attention_mask"], "model_max_length": 8192}
    return {"tokenizer.json": tokenizer.to_str().encode(), "tokenizer_config.json": settings}
