# SPDX-License-Identifier: Apache-2.0
"""The commands of tasks against the pipelines of transformers, on small random directories that `weft init` makes.

Question answering, which transformers 5 has no pipeline for, is compared as the logits of the model at the best span.
Scores agree to 2e-5, the tolerance of the models' own outputs.
"""
import os
import pathlib
import sys
import tempfile
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
warnings.filterwarnings("ignore")
import torch  # noqa: E402
import transformers  # noqa: E402
from transformers import AutoModelForMultipleChoice, AutoModelForQuestionAnswering, AutoTokenizer, pipeline  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/cli"), str(ROOT / "tests/fixtures/make")]
import encoder_cases  # noqa: E402
from encoder_program import families_with, make_model, results  # noqa: E402

TEXTS = ["the loom weaves the thread, and we'll see.", "hello", "She said 'hello, world' twice — é 中!", "the"]
TOLERANCE = 2e-5
PADDED = ("--random", "hf-eval", "--pad-like-hf")  # padding moves BigBird's last block, and the pipelines pad
RUN = (*PADDED, "--batch-size", "1")  # a text alone, as the pipelines run it; windows of one text come together
# Families with another family's tokeniser here, which transformers would read as their own: both programs read the tokenizer.json of its class.
BORROWED = {"deberta-v2": transformers.BertTokenizer, "nystromformer": transformers.BigBirdTokenizer}
# With landmarks, Nystromformer of transformers takes texts of one length alone.
SHAPES = {"nystromformer": ("--segment-means-seq-len", "6")}


def start_sparse(model):
    """BigBird of transformers stays with full attention once a text was short; here every text is its own."""
    forward = model.forward

    def each_time(self, *given, **named):
        self.set_attention_type("block_sparse")
        return forward(self, *given, **named)

    model.forward = each_time


def hide_padding(model):
    """Nystromformer's convolution reads padded rows, with which the pipelines fill windows."""
    forward = model.forward

    def each_time(self, *given, **named):
        hooks = encoder_cases.hide_padding_from_convolutions(self, named)
        output = forward(self, *given, **named)
        for hook in hooks:
            hook.remove()
        return output

    model.forward = each_time


start_sparse(transformers.BigBirdModel)
hide_padding(transformers.NystromformerModel)


def close(ours, theirs, where):
    """What differs between two results in the shape of a pipeline, or None."""
    if isinstance(theirs, list):
        if len(ours) != len(theirs):
            return f"{where}: {len(ours)} entries, expected {len(theirs)}"
        return next((problem for i, pair in enumerate(zip(ours, theirs)) if (problem := close(*pair, f"{where}[{i}]"))), None)
    if isinstance(theirs, dict):
        return next((problem for key in theirs if (problem := close(ours.get(key), theirs[key], f"{where}.{key}"))), None)
    if isinstance(theirs, str) or ours is None or theirs is None:
        return None if ours == theirs else f"{where}: {ours!r}, expected {theirs!r}"
    return None if abs(ours - theirs) <= TOLERANCE * max(1.0, abs(theirs)) else f"{where}: {ours}, expected {theirs}"


def fill_mask(directory):
    task = pipeline("fill-mask", model=str(directory))
    mask = task.tokenizer.mask_token
    for text in (f"the loom {mask} the thread.", f"{mask} said hello {mask}"):
        yield results("fill-mask", directory, text, *RUN)[0]["result"], task(text)


def classify(directory):
    task = pipeline("text-classification", model=str(directory))
    for text, found in zip(TEXTS, results("classify", directory, *TEXTS, "--top-k", "0", *RUN)):
        yield found["result"], task(text, top_k=None)
    pair = results("classify", directory, "the loom\twe see", "--pairs", "--top-k", "0", *RUN)[0]["result"]
    yield pair, task({"text": "the loom", "text_pair": "we see"}, top_k=None)


def entities(found):
    """Entities of a pipeline with Python's numbers. Where the tokeniser knows no places, as those in Python, a word may be <unk>, and is left out."""
    left_out = [name for name in ("start", "end", "word") if found and found[0]["start"] is None]
    return [{key: value if isinstance(value, (str, int)) else float(value) for key, value in entity.items() if key not in left_out} for entity in found]


def tag(directory):
    task = pipeline("token-classification", model=str(directory))
    # Words are for the pipeline what a tokeniser in Rust says they are: it refuses the others.
    for strategy in ("none", "simple", "first", "average", "max") if task.tokenizer.is_fast else ("none", "simple"):
        for text, found in zip(TEXTS, results("tag", directory, *TEXTS, "--aggregation-strategy", strategy, *RUN)):
            yield found["result"], entities(task(text, aggregation_strategy=strategy))


def long_tags(directory):
    """A text of several windows, with the pipeline's own way of joining them."""
    task = pipeline("token-classification", model=str(directory))
    if not task.tokenizer.is_fast:  # which the pipeline cuts no windows with
        return
    task.tokenizer.model_max_length = 30
    text = " ".join([TEXTS[0]] * 6)
    ours = results("tag", directory, text, "--aggregation-strategy", "simple", "--max-length", "30", "--stride", "6", *PADDED)[0]["result"]
    yield ours, entities(task(text, aggregation_strategy="simple", stride=6))


def embed(directory):
    task = pipeline("feature-extraction", model=str(directory))
    for text in TEXTS:
        hidden = task(text, return_tensors=True)[0]
        for pooling, theirs in (("mean", hidden.mean(0)), ("cls", hidden[0])):
            yield results("embed", directory, text, "--pooling", pooling, *RUN)[0]["result"], theirs.tolist()


def answer(directory):
    tokenizer, model = AutoTokenizer.from_pretrained(directory), AutoModelForQuestionAnswering.from_pretrained(directory).eval()
    for text in TEXTS[:3]:
        encoded = tokenizer("who said it?", text, return_tensors="pt", return_offsets_mapping=True)
        offsets = encoded.pop("offset_mapping")[0].tolist()
        with torch.no_grad():
            output = model(**encoded)
        document = [i for i, sequence in enumerate(encoded.sequence_ids(0)) if sequence == 1]
        spans = [(float(output.start_logits[0, i] + output.end_logits[0, j]), offsets[i][0], offsets[j][1]) for i in document for j in document if i <= j < i + 15]
        logit, start, end = max(spans)
        null = float(output.start_logits[0, 0] + output.end_logits[0, 0])
        found = results("answer", directory, "--question", "who said it?", text, *RUN)[0]
        yield [found["result"], found["metadata"]["no_answer"]], [{"answer": text[start:end], "start": start, "end": end, "logit": logit}, {"logit": null}]


def choose(directory):
    tokenizer, model = AutoTokenizer.from_pretrained(directory), AutoModelForMultipleChoice.from_pretrained(directory).eval()
    choices = ["said hello", "we see it", "the"]
    encoded = tokenizer([TEXTS[0]] * 3, choices, return_tensors="pt", padding=True)
    with torch.no_grad():
        scores = model(**{key: value[None] for key, value in encoded.items()}).logits[0].softmax(-1).tolist()
    flags = [word for choice in choices for word in ("--choice", choice)]
    found = results("choose", directory, "--prompt", TEXTS[0], *flags, *RUN)[0]["result"]
    yield sorted(found, key=lambda entry: entry["index"]), [{"choice": choice, "score": score} for choice, score in zip(choices, scores)]


TASKS = (
    (fill_mask, "masked-lm", ()),
    (embed, "none", ()),
    (classify, "sequence-classification", ("--labels", "bad", "good", "odd")),
    (tag, "token-classification", ("--labels", "O", "B-PER", "I-PER", "B-LOC")),
    (long_tags, "token-classification", ("--labels", "O", "B-PER", "I-PER", "B-LOC")),
    (answer, "question-answering", ()),
    (choose, "multiple-choice", ()),
)


def main():
    transformers.utils.logging.disable_progress_bar()
    failures = 0
    for task, head, more in TASKS:
        for family in filter(transformers.CONFIG_MAPPING.__contains__, families_with(head)):
            with tempfile.TemporaryDirectory() as folder:
                directory = make_model(pathlib.Path(folder) / "model", family, head, *more, *SHAPES.get(family, ()))
                if family in BORROWED:
                    BORROWED[family].from_pretrained(directory).save_pretrained(directory)
                found = [close(ours, theirs, task.__name__) for ours, theirs in task(directory)]
            problems = [problem for problem in found if problem]
            print(f"{family} {task.__name__}: {problems[0] if problems else f'{len(found)} equal'}", flush=True)
            failures += len(problems)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
