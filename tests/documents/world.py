# SPDX-License-Identifier: Apache-2.0
"""What the commands of the documents find in their folder: small files and models under the names that the documents use. Each is made when a
command first names it, and is linked into the folder of its page."""

import csv
import gzip
import json
import pathlib
import random
import shutil
import subprocess
import sys
import threading
import wave

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from encoder_program import FIXTURES, TOKENIZERS, write_safetensors  # noqa: E402
from sequence_tasks_test import make_marian  # noqa: E402
from weft_program import weft  # noqa: E402

WORDS = {"en": "the loom weaves a thread and we see it in our house while an old man walks over that bridge to town".split(),
         "de": "der Webstuhl webt einen Faden und wir sehen ihn im Haus und ein alter Mann geht auf dieser Bruecke".split()}
LABELS = ("bad", "good")
ENCODER = ["--num-hidden-layers", "2", "--hidden-size", "32", "--num-attention-heads", "2", "--intermediate-size", "64"]
SHAPES = {  # tokeniser of the fixtures, positions; those of RoBERTa's kind have two more
    "bert": ("bert", "512"), "electra": ("bert", "512"), "roberta": ("roberta", "514"), "longformer": ("roberta", "4098"), "big_bird": ("big_bird", "4096"),
}


def prose(lines, seed, language="en", words=12):
    draw = random.Random(seed)
    return "".join(" ".join(draw.choice(WORDS[language]) for _ in range(words)).capitalize() + ".\n" for _ in range(lines))


def text(path, *arguments, **keywords):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(prose(*arguments, **keywords), encoding="utf-8")


def table(path, columns, rows=24):
    """A .csv or .tsv; labels turn with the rows, other columns hold text."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",", lineterminator="\n")
        writer.writerow(columns)
        for row in range(rows):
            writer.writerow([LABELS[row % 2] if column == "label" else row if column == "id" else prose(1, row, words=6).strip() for column in columns])


def lines_of_json(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def folder_of_classes(path):
    for label in LABELS:
        for number in range(8):
            text(path / label / f"{number}.txt", 3, seed=number)


def retrieval(path):
    """A folder as BEIR has it."""
    path.mkdir(parents=True)
    lines_of_json(path / "corpus.jsonl", [{"_id": str(row), "title": "", "text": prose(2, row)} for row in range(12)])
    lines_of_json(path / "queries.jsonl", [{"_id": f"q{row}", "text": prose(1, row)} for row in range(3)])
    (path / "qrels").mkdir()
    (path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"q{row}\t{row}\t1\n" for row in range(3)))


def genome(path, sequences=4, bases=300):
    draw = random.Random(1)
    body = "".join(f">sequence {number}\n" + "".join(draw.choice("ACGT") for _ in range(bases)) + "\n" for number in range(sequences))
    path.write_bytes(gzip.compress(body.encode()) if path.suffix == ".gz" else body.encode())


def profiles(path):
    """Bins of a genome with columns of 0 and 1, as DeepSEA has them."""
    draw = random.Random(2)
    rows = ("\t".join(["".join(draw.choice("ACGT") for _ in range(40)), *(str(draw.randrange(2)) for _ in range(3))]) for _ in range(40))
    path.write_text("\n".join(["text\tTF_ctcf\tTF_nfe2\tHM_me3", *rows]) + "\n")


def question(path):
    passage = "The old man wove it in the house."
    answer = {"id": "1", "question": "Who wove it?", "answers": [{"text": "The old man", "answer_start": 0}], "is_impossible": False}
    path.write_text(json.dumps({"version": "v2.0", "data": [{"title": "loom", "paragraphs": [{"context": passage, "qas": [answer]}]}]}))


def hops(path):
    context = [["loom", ["The old man wove it.", " It is in the house."]], ["house", ["The house is old."]]]
    path.write_text(json.dumps([{"_id": "1", "question": "Who wove it?", "answer": "The old man", "supporting_facts": [["loom", 0]], "context": context},
                                {"_id": "2", "question": "Is it old?", "answer": "yes", "supporting_facts": [["house", 0]], "context": context}]))


def pictures(path):
    path.mkdir(parents=True)
    record = [bytes([number]) + bytes((place * 3 + number) % 256 for place in range(3072)) for number in range(2)]
    (path / "batch.bin").write_bytes(b"".join(record))  # as CIFAR-10 has them


def picture(path):
    path.write_bytes(b"P6 32 32 255\n" + bytes(place * 7 % 256 for place in range(3072)))


def sound(path):
    path.mkdir(parents=True)
    with wave.open(str(path / "melody.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(8000)
        file.writeframes(bytes(place * 5 % 256 for place in range(9000)))


def program(*arguments):
    done = weft(*arguments)
    if done.returncode != 0:
        raise AssertionError(f"the world of the documents: weft {' '.join(map(str, arguments))}: {done.stderr}")


def encoder(family, head, *more):
    tokenizer, positions = SHAPES[family]
    own = ["--block-size", "16"] if family == "big_bird" else ["--attention-window", "16"] if family == "longformer" else []
    labels = ["--labels", *LABELS] if head == "sequence-classification" and "--labels" not in more else []
    return lambda path: program("init", "--family", family, "--head", head, "--tokenizer", TOKENIZERS / tokenizer, *ENCODER, *own, *labels,
                                "--max-position-embeddings", positions, "--out", path, *more)


def sentence_encoder(path):
    """As sentence-transformers has them: the modules of all-MiniLM-L6-v2 behind a small encoder."""
    encoder("bert", "none")(path)
    kinds = (("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize"))
    modules = [{"idx": place, "name": str(place), "path": folder, "type": f"sentence_transformers.models.{kind}"} for place, (kind, folder) in enumerate(kinds)]
    (path / "modules.json").write_text(json.dumps(modules))
    (path / "1_Pooling").mkdir()
    (path / "1_Pooling/config.json").write_text(json.dumps({"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True}))
    (path / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 256, "do_lower_case": False}))


def pair_model(family, tokenizer, *more):
    """One layer each; it writes few tokens."""
    shape = ["--d-model", "16", "--encoder-layers", "1", "--decoder-layers", "1", "--encoder-attention-heads", "2", "--decoder-attention-heads", "2",
             "--encoder-ffn-dim", "32", "--decoder-ffn-dim", "32"]

    def make(path):
        program("init", "--family", family, "--tokenizer", FIXTURES / tokenizer, *shape, *more, "--out", path)
        (path / "generation_config.json").write_text(json.dumps({"num_beams": 1, "max_new_tokens": 8}))

    return make


def marian(source, target):
    """A Marian that names its languages."""
    def make(path):
        pair_model("marian", "pairs/marian-separate", "--max-source-positions", "512")(path)
        settings = json.loads((path / "tokenizer_config.json").read_text())
        (path / "tokenizer_config.json").write_text(json.dumps(settings | {"source_lang": source, "target_lang": target}))
    return make


def decoder(*more):
    return lambda path: program("train", "--train-text", World.shared.get("books/train"), "--context", "1024", "--layers", "1", "--width", "32",
                                "--heads", "4", "--steps", "2", "--batch-size", "1", "--dtype", "float32", "--threads", "1", *more, "--out", path)


def translator(path):
    program("train", "--task", "translate", "--train-source", World.shared.get("train.de"), "--train-target", World.shared.get("train.en"),
            "--layers", "1", "--width", "16", "--heads", "2", "--vocabulary-size", "400", "--steps", "2", "--threads", "1", "--out", path)


def profiled(path):
    program("profile", World.shared.get("run"), "--text", World.shared.get("books/val"), "--max-bytes", "4000", "--out", path)


def vocabulary_of_words(path):
    path.mkdir()
    words = sorted({word for word in World.shared.get("wiki.train.tokens").read_text().split()})
    (path / "vocab.json").write_text(json.dumps({word: number for number, word in enumerate(["<eos>", *words])}))


def pair_tensors(path):
    write_safetensors(path, input_ids=[[5, 6, 7, 0]], decoder_input_ids=[[5, 6, 7]])


def lines(count, **keywords):
    return lambda path: text(path, count, 1, **keywords)


def columns(*names):
    return lambda path: table(path, names)


def records(*fields):
    return lambda path: lines_of_json(path, [{field: prose(1, row).strip() for field in fields} for row in range(6)])


NAMES = {
    # texts
    "books/train": lambda path: text(path / "one.txt", 1500, seed=1), "books/val": lambda path: text(path / "one.txt", 1500, seed=2),
    "books/test": lambda path: text(path / "one.txt", 100, seed=3), "books": lambda path: text(path / "one.txt", 200, seed=4),
    "letters/train": lambda path: text(path / "one.txt", 200, seed=5), "papers": lambda path: text(path / "one.txt", 100, seed=6),
    "held-out.txt": lines(300), "chapter.txt": lines(3), "story.txt": lines(20), "novel.txt": lines(4), "book.txt": lines(20), "report.txt": lines(6),
    "transcript.txt": lines(4), "articles.txt": lines(6), "reports.txt": lines(6), "captions.en": lines(3), "train.txt": lines(200),
    "output.en": lines(8), "reference.en": lines(8), "summaries.txt": lines(8), "references.txt": lines(8), "wiki.train.tokens": lines(400),
    "train.en": lines(60, words=6), "train.de": lines(60, language="de", words=6), "val.en": lines(8, words=6), "val.de": lines(8, language="de", words=6),
    "more.en": lines(20, words=6),
    "more.de": lines(20, language="de", words=6), "test.en": lines(6, words=6), "test.de": lines(6, language="de", words=6),
    "train.trees": lambda path: path.write_text("(S (NP XX )NP (VP XX (NP XX )NP )VP )S\n" * 60), "test.words": lines(6, words=6),
    "test.gold": lambda path: path.write_text("0-0 1-1\n" * 6), "train.links": lambda path: path.write_text("0-0 1-1\n" * 60),
    # tables and records
    "train.tsv": columns("text", "label"), "dev.tsv": columns("text", "label"), "test.tsv": columns("text", "label"),
    "train.csv": columns("text", "label"), "test.csv": columns("text", "label"), "reviews.tsv": columns("review", "label"),
    "reviews.csv": columns("id", "text", "label", "body"), "pairs.csv": columns("de", "en"), "papers.jsonl": records("article", "abstract"),
    "articles.jsonl": records("document", "summary"), "summaries.jsonl": records("summary"), "references.jsonl": records("summary"),
    "notes": lambda path: [text(path / f"{name}.txt", 30, seed=place) for place, name in enumerate(("old", "loom"))], "beir": retrieval,
    "reports.jsonl": records("text"), "passages.jsonl": records("passage"),
    "queries.jsonl": lambda path: lines_of_json(path, [{"query": "who weaves", "texts": ["the loom", "an old man"]}] * 2),
    "questions.jsonl": lambda path: lines_of_json(path, [{"prompt": "the loom", "choices": ["weaves", "walks"], "label": 0}] * 3),
    "premises-and-hypotheses.tsv": lambda path: path.write_text("the loom weaves\tit weaves\n" * 3), "dev-v2.0.json": question,
    "hotpot_train.json": hops, "hotpot_dev.json": hops,
    "reviews": folder_of_classes, "movie_reviews": folder_of_classes, "pairs.safetensors": pair_tensors,
    # sequences, pictures, sound
    "genome.fa.gz": genome, "ecoli.fa.gz": genome, "tata.fa": genome, "other.fa": genome, "profiles.tsv": profiles,
    "groups.json": lambda path: path.write_text(json.dumps({"TF": ["TF_*"], "HM": ["HM_me3"]})), "cifar/train": pictures, "cifar/test": pictures,
    "bird.png": picture, "music/train": sound, "music/val": sound, "music/test": sound,
    # encoders
    "bert-base-uncased": encoder("bert", "masked-lm"), "roberta-base": encoder("roberta", "masked-lm"), "bert": encoder("bert", "none"),
    "bigbird-roberta-base": encoder("big_bird", "masked-lm"), "google/bigbird-roberta-base": encoder("big_bird", "masked-lm"),
    "allenai/longformer-base-4096": encoder("longformer", "masked-lm"), "longformer-base-4096": encoder("longformer", "masked-lm"), "longformer": encoder("longformer", "none", "--num-hidden-layers", "12"),
    "longformer-squad": encoder("longformer", "question-answering"), "squad2": encoder("bert", "question-answering"),
    "sentiment": encoder("bert", "sequence-classification"), "nli": encoder("bert", "sequence-classification"),
    "ner": encoder("bert", "token-classification", "--labels", "O", "B-PER", "I-PER"), "swag": encoder("bert", "multiple-choice"),
    "electra-discriminator": encoder("electra", "replaced-tokens"),
    "all-MiniLM-L6-v2": sentence_encoder, "ms-marco-MiniLM-L6-v2": encoder("bert", "sequence-classification", "--labels", "score"),
    "small": encoder("roberta", "none"), "long": encoder("longformer", "none"),
    "reviews-dense": encoder("roberta", "sequence-classification"), "tokenizer": lambda path: shutil.copytree(TOKENIZERS / "roberta", path),
    # encoder-decoders
    "de-en": translator, "one": translator, "two": translator, "three": translator, "parser": translator, "en-de": translator, "runs/translate": translator, "opus-mt-cs-en": marian("cs", "en"), "Helsinki-NLP/opus-mt-cs-en": marian("cs", "en"),
    "Helsinki-NLP/opus-mt-de-en": marian("de", "en"), "opus-mt-de-en": marian("de", "en"), "opus-mt-en-de": marian("en", "de"),
    "opus-mt-en-ROMANCE": lambda path: make_marian(path), "bart-base": pair_model("bart", "tokenizers/roberta"),
    "led-base-16384": pair_model("led", "tokenizers/roberta", "--attention-window", "16", "--max-source-positions", "16384"),
    "bigbird-pegasus-large-arxiv": pair_model("bigbird_pegasus", "pairs/bigbird_pegasus", "--block-size", "16"),
    # runs
    "run": decoder("--attention", "full"), "decoder": decoder("--attention", "full"), "other": decoder("--attention", "window(left=16)"), "dense-run": decoder("--attention", "full"),
    "runs/window": decoder("--attention", "window(left=16)"), "runs/bigbird": decoder("--attention", "bigbird(block=16)"),
    "profile.safetensors": profiled, "words": vocabulary_of_words,
}


class World:
    """The files and models that were made so far, below one folder."""

    shared = None

    def __init__(self, folder):
        self.folder = folder
        self.locks = {name: threading.RLock() for name in NAMES}
        World.shared = self

    def get(self, name):
        made = self.folder / name.replace("/", "-of-") / pathlib.PurePath(name).name
        with self.locks[name]:
            if not made.exists():
                made.parent.mkdir(parents=True, exist_ok=True)
                NAMES[name](made)
        return made

    def link(self, name, page):
        """Puts it into the folder of a page: a command may read it and must not change it."""
        target = page / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-rl", self.get(name), target], check=True)
