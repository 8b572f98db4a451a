# SPDX-License-Identifier: Apache-2.0
"""What `weft train --task embed` and `--task rerank` write, opened by sentence-transformers: vectors, scores, first losses, and figures.

Vectors and scores agree to 1e-5, losses to 1e-4 of their size, figures to 1e-6.
"""
import json
import os
import pathlib
import random
import sys
import tempfile
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = os.environ["TQDM_DISABLE"] = "1"
warnings.filterwarnings("ignore")
import torch  # noqa: E402
from sentence_transformers import CrossEncoder, SentenceTransformer  # noqa: E402
from sentence_transformers.sentence_transformer import losses  # noqa: E402
from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator, InformationRetrievalEvaluator  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
from encoder_program import make_model  # noqa: E402
from weft_program import weft, weft_json  # noqa: E402

WORDS = ("the", "loom", "thread", "hello", "world", "said", "it", "she", "we", "see")
RUN = ("--dtype", "float32", "--threads", "1", "--learning-rate", "0.003", "--schedule", "constant", "--warmup-ratio", "0")
EASY = ("--initializer-range", "0.2", "--hidden-dropout-prob", "0", "--attention-probs-dropout-prob", "0")


def sentence(draw):
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(2, 8)))


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def first_loss(run):
    return next(entry["loss"] for line in (run / "metrics.jsonl").read_text().splitlines() if "loss" in (entry := json.loads(line)))


class Findings:
    def __init__(self):
        self.failed = 0

    def near(self, what, found, expected, tolerance):
        good = abs(found - expected) <= tolerance * max(1.0, abs(expected))
        self.failed += not good
        print(f"{'ok' if good else 'DIFFERS'}: {what}: {found:.8f}, expected {expected:.8f}")


def check_vectors(findings, run, texts):
    library = SentenceTransformer(str(run), device="cpu")
    lines = weft("embed", run, *texts, "--json").stdout.splitlines()
    ours = torch.tensor([json.loads(line)["result"] for line in lines])
    theirs = torch.tensor(library.encode(texts))
    findings.near(f"vectors of {run.name}", float((ours - theirs).abs().max()), 0.0, 1e-5)
    return library


def columns(library, texts):
    return [library.preprocess(column) if hasattr(library, "preprocess") else library.tokenize(column) for column in texts]


def embed_pairs(findings, folder, draw):
    """In-batch negatives with hard ones, Matryoshka, prompts."""
    used = set()
    records = []
    while len(records) < 24:
        query, positive, negative = sentence(draw), sentence(draw), sentence(draw)
        if not used & {query, positive, negative} and len({query, positive, negative}) == 3:
            used |= {query, positive, negative}
            records.append({"query": query, "positive": positive, "negative": negative})
    data = write(folder / "triplets.jsonl", records)
    start = make_model(folder / "start", "bert", "masked-lm", *EASY)
    begun = folder / "begun"  # the weights before the first step, as a directory of the library
    weft_json("train", "--task", "embed", "--model", start, "--train-data", data, *RUN, "--steps", "1", "--batch-size", "24", "--out", begun)
    library = SentenceTransformer(str(begun / "checkpoints/step-0"), device="cpu")
    table = [[record[name] for record in records] for name in ("query", "positive", "negative")]
    with torch.no_grad():
        inner = losses.MultipleNegativesRankingLoss(library)
        findings.near("first in-batch loss", first_loss(begun), float(inner(columns(library, table), None)), 1e-4)
    nested = folder / "nested"
    weft_json("train", "--task", "embed", "--model", start, "--train-data", data, "--eval-data", data, *RUN, "--epochs", "4", "--batch-size", "8",
              "--matryoshka-dims", "16", "8", "--mini-batch-tokens", "100", "--query-prompt", "hello ", "--out", nested)
    library = check_vectors(findings, nested, [record["positive"] for record in records])
    assert library.prompts["query"] == "hello ", library.prompts
    figures = weft_json("eval", nested, "--data", data)
    corpus = {f"{i:06d}": text for i, text in enumerate(dict.fromkeys(table[1] + table[2]))}
    numbers = {text: number for number, text in corpus.items()}
    queries = {str(i): record["query"] for i, record in enumerate(records)}
    relevant = {str(i): {numbers[record["positive"]]} for i, record in enumerate(records)}
    # The library puts the prompt called query before each query by itself.
    theirs = InformationRetrievalEvaluator(queries, corpus, relevant, map_at_k=[len(corpus)], show_progress_bar=False)(library)
    for ours, name in (("ndcg_at_10", "cosine_ndcg@10"), ("mrr_at_10", "cosine_mrr@10"), ("map", f"cosine_map@{len(corpus)}"),
                       ("recall_at_1", "cosine_recall@1"), ("recall_at_10", "cosine_recall@10")):
        findings.near(ours, figures[ours], theirs[name], 1e-6)


def embed_scores(findings, folder, draw):
    records = [{"sentence1": sentence(draw), "sentence2": sentence(draw), "score": round(draw.random() * 5, 1)} for _ in range(24)]
    data = write(folder / "scores.jsonl", records)
    start = make_model(folder / "start-scores", "bert", "masked-lm", *EASY)
    table = [[record[name] for record in records] for name in ("sentence1", "sentence2")]
    scores = torch.tensor([record["score"] / 5 for record in records])
    for loss, kind in (("cosine", losses.CosineSimilarityLoss), ("cosent", losses.CoSENTLoss)):
        run = folder / f"run-{loss}"
        weft_json("train", "--task", "embed", "--model", start, "--train-data", data, "--eval-data", data, "--score-max", "5", *RUN, "--loss", loss,
                  "--steps", "3", "--batch-size", "24", "--out", run, "--keep-checkpoints", "9", "--checkpoint-every", "1")
        begun = SentenceTransformer(str(run / "checkpoints/step-0"), device="cpu")
        with torch.no_grad():
            findings.near(f"first loss {loss}", first_loss(run), float(kind(begun)(columns(begun, table), scores)), 1e-4)
        library = check_vectors(findings, run, table[0])
        theirs = EmbeddingSimilarityEvaluator(*table, scores.tolist(), main_similarity="cosine")(library)
        figures = weft_json("eval", run, "--data", data)
        findings.near(f"pearson {loss}", figures["pearson"], theirs["pearson_cosine"], 1e-6)
        findings.near(f"spearman {loss}", figures["spearman"], theirs["spearman_cosine"], 1e-6)


def rerank(findings, folder, draw):
    records = [{"query": sentence(draw), "text": sentence(draw), "label": draw.randint(0, 1)} for _ in range(24)]
    data = write(folder / "labels.jsonl", records)
    run = folder / "reranker"
    start = make_model(folder / "start-rerank", "bert", "masked-lm", *EASY)
    weft_json("train", "--task", "rerank", "--model", start, "--train-data", data, "--eval-data", data, *RUN, "--steps", "3", "--batch-size", "24",
              "--out", run)
    weft_json("eval", run, "--data", data, "--predictions", folder / "predictions.jsonl")
    ours = [json.loads(line)["score"] for line in (folder / "predictions.jsonl").read_text().splitlines()]
    library = CrossEncoder(str(run), device="cpu")
    theirs = library.predict([(record["query"], record["text"]) for record in records])
    findings.near("scores of pairs", max(abs(a - float(b)) for a, b in zip(ours, theirs, strict=True)), 0.0, 1e-5)


def main():
    findings = Findings()
    draw = random.Random(3)
    with tempfile.TemporaryDirectory() as name:
        for part in (embed_pairs, embed_scores, rerank):
            folder = pathlib.Path(name) / part.__name__
            folder.mkdir()
            part(findings, folder, draw)
    print(f"{findings.failed} differences")
    return findings.failed > 0


if __name__ == "__main__":
    sys.exit(main())
