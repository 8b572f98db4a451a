# SPDX-License-Identifier: Apache-2.0
"""`weft rerank` against CrossEncoder of sentence-transformers, on 40 random cross-encoders of five families, of odd sizes, saved by
the library or as older versions wrote them, with several activations and prompts; pairs of odd lengths, one token, none, and
too long ones, which both cut. Scores are those of the library's model in float64, as near as the library's own in float32.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
warnings.filterwarnings("ignore")
import torch  # noqa: E402
from sentence_transformers import CrossEncoder  # noqa: E402
import transformers  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEFT = os.environ.get("WEFT_BINARY", str(ROOT / "build/release/bin/weft"))
# Of a score. Weights this wild (0.4) make scores of attention in the dozens, of which float32 loses some 1e-5 in a layer, and ELU, LogSigmoid
# and the identity show that where the others flatten it: such a model may be as far from float64 as twice what the library is itself.
TOLERANCE = 1e-5
COUNT = 40
ACTIVATIONS = [torch.nn.Sigmoid, torch.nn.Identity, torch.nn.Tanh, torch.nn.ReLU, torch.nn.LeakyReLU, torch.nn.ELU, torch.nn.Softplus, torch.nn.Softsign, torch.nn.LogSigmoid]
# The names of a family's classes begin with the first; the second is the fixture of its tokeniser.
FAMILIES = {"bert": ("Bert", "bert"), "roberta": ("Roberta", "roberta"), "xlm-roberta": ("XLMRoberta", "xlm_roberta"),
            "camembert": ("Camembert", "camembert"), "distilbert": ("DistilBert", "bert")}
WORDS = "the loom thread hello world weaves said it she we see and well 12 é 中 , . ! ? : ; ' - ( ) Ünder looms' 😀 a b".split()


def write_model(draw, folder, family):
    """A random directory of transformers, and how many tokens it takes."""
    name, fixture = FAMILIES[family]
    tokenizer = getattr(transformers, f"{name}Tokenizer").from_pretrained(ROOT / "tests/fixtures/tokenizers" / fixture)
    heads, length = draw.choice([1, 2, 3]), draw.choice([9, 17, 64, 130])
    shape = {"vocab_size": len(tokenizer), "hidden_size": 4 * heads * draw.randint(1, 5), "num_hidden_layers": draw.randint(1, 3), "num_attention_heads": heads,
             "intermediate_size": draw.randint(3, 40), "pad_token_id": tokenizer.pad_token_id, "num_labels": 1, "initializer_range": 0.4}
    torch.manual_seed(draw.randrange(1 << 30))
    if family == "distilbert":
        shape["hidden_dim"] = shape.pop("intermediate_size")
    positions = length if fixture == "bert" else length + 2
    config = getattr(transformers, f"{name}Config")(max_position_embeddings=positions, **shape)
    getattr(transformers, f"{name}ForSequenceClassification")(config).eval().save_pretrained(folder)
    tokenizer.model_max_length = length
    tokenizer.save_pretrained(folder)


def make_directory(draw, root, number):
    """A directory as some version of the library has it."""
    plain = root / f"plain{number}"
    write_model(draw, plain, list(FAMILIES)[number % len(FAMILIES)])
    activation = draw.choice(ACTIVATIONS)
    kind = draw.choice(["saved", "saved", "old", "newer config", "none"])
    if kind == "saved":
        prompts = {"prompts": {"query": "we see: ", "document": ""}, "default_prompt_name": "query"} if draw.random() < 0.5 else {}
        CrossEncoder(str(plain), activation_fn=activation(), device="cpu", **prompts).save_pretrained(str(root / f"saved{number}"), create_model_card=False)
        return root / f"saved{number}", f"{kind} {activation.__name__} {bool(prompts)}"
    config = json.loads((plain / "config.json").read_text())
    path = f"{activation.__module__}.{activation.__name__}"
    if kind == "old":
        config["sbert_ce_default_activation_function"] = path
    elif kind == "newer config":
        config["sentence_transformers"] = {"activation_fn": path, "version": "4.1.0"}
    (plain / "config.json").write_text(json.dumps(config))
    return plain, f"{kind} {activation.__name__}"


def texts(draw):
    return [" ".join(draw.choice(WORDS) for _ in range(draw.choice([0, 1, 2, 5, 7, 13, 31, 150]))) for _ in range(9)] + ["", "we", " ", "the loom\nsaid\thello "]


def compare(draw, directory):
    """How far scores are from those in float64, in parts of what is allowed, over two queries."""
    single, double = CrossEncoder(str(directory), device="cpu"), CrossEncoder(str(directory), device="cpu")
    double.model.double()
    queries = [{"query": draw.choice(["we see the loom", "", "who?", "the thread " * 20]), "texts": texts(draw)} for _ in range(2)]
    lines = "".join(json.dumps(query) + "\n" for query in queries)
    process = subprocess.run([WEFT, "rerank", directory, "--queries", "-", "--truncate", "--json"], input=lines, capture_output=True, text=True, check=False)
    if process.returncode != 0:
        return process.stderr
    largest = 0.0
    for query, line in zip(queries, process.stdout.splitlines()):
        pairs = [(query["query"], text) for text in query["texts"]]
        theirs, exact = single.predict(pairs).tolist(), double.predict(pairs).tolist()
        found = json.loads(line)["result"]
        if sorted(entry["index"] for entry in found) != list(range(len(exact))):
            return f"indices {[entry['index'] for entry in found]}"
        allowed = max(TOLERANCE, 2 * max(abs(score - right) for score, right in zip(theirs, exact)))
        largest = max(largest, max(abs(entry["score"] - exact[entry["index"]]) for entry in found) / allowed)
    return largest


def main():
    failed, largest = 0, 0.0
    with tempfile.TemporaryDirectory() as name:
        for number in range(COUNT):
            draw = random.Random(number)
            directory, what = make_directory(draw, pathlib.Path(name), number)
            found = compare(draw, directory)
            if isinstance(found, str) or found > 1:
                failed += 1
                print(f"cross-encoder {number} ({what}): {found}")
            else:
                largest = max(largest, found)
    print(f"{COUNT - failed} of {COUNT} cross-encoders agree with CrossEncoder; the largest difference is {largest:.2f} of what is allowed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
