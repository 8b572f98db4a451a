#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Transformer-XL against transformers 4.35.2, the last version that has it, which scripts/setup-parity puts into .venv-parity/transformers-4.

The fixtures of tests/fixtures/transformer_xl are made anew and compared with the stored ones. transformers loads what `weft train` and `weft convert` wrote
and computes the bits of `weft eval`. The released shape (heads of 41 columns) goes from transformers to Weft.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
OLDER = pathlib.Path(os.environ.get("WEFT_TRANSFORMERS4") or ROOT / ".venv-parity/transformers-4")
FIXTURES = ROOT / "tests/fixtures/transformer_xl"
BINARY = os.environ.get("WEFT_BINARY") or str(ROOT / "build/release/bin/weft")
SAME_FIXTURE, SAME_BITS = 1e-5, 1e-4
failed = 0


def report(passed, text):
    global failed
    failed += not passed
    print(f"{'ok  ' if passed else 'FAIL'} {text}")


def weft(*arguments):
    process = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True)
    if process.returncode:
        raise SystemExit(f"weft {arguments}: {process.stderr}")
    return process.stdout


def bits(model, ids, context, zeros=False):
    """Bits of all tokens but the first, in segments behind a memory that begins empty, as `weft eval` scores them, or with the zeros of transformers."""
    memories, total = None if zeros else [torch.zeros(0, 1, model.config.d_model)] * model.config.n_layer, 0.0
    with torch.no_grad():
        for begin in range(0, ids.shape[1] - 1, context):
            piece = ids[:, begin:min(begin + context, ids.shape[1] - 1)]
            output = model(piece, mems=memories)
            scores = output.prediction_scores.view(piece.shape[1], -1)
            total -= scores.gather(1, ids[0, begin + 1:begin + 1 + piece.shape[1], None]).sum().item()
            memories = output.mems
    return total / torch.log(torch.tensor(2.0)).item()


def check_fixtures():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, ROOT / "tests/fixtures/make/transformer_xl.py", folder], check=True, capture_output=True,
                       env={**os.environ, "PYTHONPATH": str(OLDER)})
        for name in ("clusters", "one-table", "no-clusters"):
            made, stored = (load_file(pathlib.Path(root) / name / "expected.safetensors") for root in (folder, FIXTURES))
            assert made.keys() == stored.keys()
            largest = max((made[key].double() - stored[key].double()).abs().max().item() for key in made)
            report(largest <= SAME_FIXTURE, f"fixture {name}: largest difference {largest:.1e}")


def same_bits(name, model, folder, text, context):
    words = json.loads((pathlib.Path(folder) / "vocab.json").read_text())
    ids = torch.tensor([[words[word] for word in text.read_text().replace("\n", " <eos> ").split()]])
    for zeros in (False, True):
        flags = ["--like-transformers"] if zeros else []
        found = json.loads(weft("eval", folder, "--text", text, "--context", context, "--dtype", "float32", "--json", *flags))
        expected = bits(model.eval(), ids, context, zeros) / (ids.shape[1] - 1)
        ours = torch.log2(torch.tensor(found["perplexity"], dtype=torch.float64)).item()
        report(abs(ours - expected) <= SAME_BITS, f"{name} {flags}: {ours:.6f} bits a token, transformers {expected:.6f}")


def main():
    check_fixtures()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        words = {word: i for i, word in enumerate(["<eos>", "<unk>", *(f"w{i}" for i in range(298))])}
        generator = torch.Generator().manual_seed(2)
        draws = (torch.rand(4000, generator=generator) ** 3 * 300).long().tolist()
        names = list(words)
        text = folder / "text.txt"
        text.write_text(" ".join(names[i] if i > 1 else "\n" for i in draws))
        # From transformers, with heads of 41 columns as in the released wt103 model.
        released = folder / "released"
        torch.manual_seed(1)
        model = TransfoXLLMHeadModel(TransfoXLConfig(vocab_size=300, cutoffs=[20, 80], d_model=82, d_embed=82, n_head=2, d_head=41, d_inner=100,
                                                     n_layer=3, div_val=4, mem_len=64, clamp_len=40))
        for parameter in model.parameters():
            parameter.data = parameter.data + torch.randn_like(parameter) * 0.1
        model.save_pretrained(released)
        (released / "vocab.json").write_text(json.dumps(words))
        same_bits("from transformers", TransfoXLLMHeadModel.from_pretrained(released), released, text, 50)
        # From Weft, for each kind of head.
        for kind, flags in {"clusters": ("--vocabulary-cutoffs", 20, 80, "--vocabulary-division", 2), "one table": ("--vocabulary-cutoffs", 20, 80),
                            "no clusters": (), "untied": ("--vocabulary-cutoffs", 20, "--vocabulary-division", 2, "--no-tie-word-embeddings")}.items():
            run, written = folder / f"run {kind}", folder / f"written {kind}"
            weft("train", "--train-text", text, "--tokenizer", released, "--variant", "transformer-xl", "--norm-position", "post", "--hidden-act",
                 "relu", "--attention", "relative(left=15, clamp=9)", "--position-embedding", "none", "--memory", 16, "--context", 16, "--layers", 2,
                 "--width", 32, "--heads", 2, "--steps", 20, *flags, "--out", run)
            weft("convert", run, "--to", "transfo-xl", "--out", written)
            model, loading = TransfoXLLMHeadModel.from_pretrained(written, output_loading_info=True)
            report(not any(loading.values()), f"written {kind}: {loading}")
            same_bits(f"written {kind}", model, written, text, 16)
    raise SystemExit(failed > 0)


if not (OLDER / "transformers").is_dir():
    raise SystemExit(f"{OLDER} has no transformers 4; scripts/setup-parity installs it")
sys.path.insert(0, str(OLDER))
import torch  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from transformers import TransfoXLConfig, TransfoXLLMHeadModel  # noqa: E402

if __name__ == "__main__":
    main()
