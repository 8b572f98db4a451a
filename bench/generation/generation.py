#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models that write texts: `bench_generation` beside CTranslate2 and transformers, with the same random weights.

Every program first writes ids, and nothing is timed unless those of all programs in float32 are equal; texts of bfloat16 and int8 that
differ are counted. Then they take turns: each turn is a process of its own that loads the directory, runs once, and runs `--repeats`
times with a clock. Every text has the same number of tokens. One line of JSON a case and program, with the median, the spread and the
peak of resident memory, which for a peer includes its Python.

    bench/generation/generation.py --peer-python PYTHON [--cases marian-greedy gpt2-32 ...] [--weights float32 bfloat16 int8]

The program is built where CMake is told -DWEFT_BENCH=ON, as by `scripts/bench`; a build of the tree alone leaves it out.
PYTHON needs ctranslate2, torch and transformers; without --peer-python Weft runs alone, and the cases of GPT-2, whose weights
transformers makes, cannot run. Run it on a machine that does nothing else.
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import struct
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import programs  # noqa: E402

PEERS = pathlib.Path(__file__).resolve().parent / "peers.py"

BASE = ["--encoder-layers", 6, "--decoder-layers", 6]
MARIAN = [*BASE, "--d-model", 512, "--encoder-attention-heads", 8, "--decoder-attention-heads", 8, "--encoder-ffn-dim", 2048,
          "--decoder-ffn-dim", 2048, "--vocab-size", 58101, "--pad-token-id", 58100, "--decoder-start-token-id", 58100, "--eos-token-id", 0,
          "--activation-function", "swish", "--scale-embedding", "--max-source-positions", 512]
LARGE = ["--encoder-layers", 12, "--decoder-layers", 12, "--d-model", 1024, "--encoder-attention-heads", 16, "--decoder-attention-heads", 16,
         "--encoder-ffn-dim", 4096, "--decoder-ffn-dim", 4096]
LED = [*BASE, "--d-model", 768, "--encoder-attention-heads", 12, "--decoder-attention-heads", 12, "--encoder-ffn-dim", 3072,
       "--decoder-ffn-dim", 3072, "--max-source-positions", 16384, "--attention-window", 1024]

T5 = ["--encoder-layers", 6, "--decoder-layers", 6, "--d-model", 512, "--encoder-attention-heads", 8, "--decoder-attention-heads", 8, "--encoder-ffn-dim", 2048,
      "--decoder-ffn-dim", 2048, "--vocab-size", 32128]
NLLB = [*BASE, "--d-model", 1024, "--encoder-attention-heads", 16, "--decoder-attention-heads", 16, "--encoder-ffn-dim", 4096,
        "--decoder-ffn-dim", 4096, "--vocab-size", 128112]

# What the decoder ends in, by family.
LAST_NORMS = {"marian": "decoder.layers.5.final_layer_norm.weight", "bigbird_pegasus": "decoder.layernorm_embedding.weight",
              "led": "decoder.layers.5.final_layer_norm.weight", "t5": "decoder.final_layer_norm.weight",
              "m2m_100": "decoder.layer_norm.weight"}

# name: family, shape, batch, source tokens (of GPT-2 those of the prompt), new tokens, beams, peers
CASES = {
    "marian-greedy": ("marian", MARIAN, 32, 48, 48, 1, ["ctranslate2", "transformers"]),
    "marian-beam": ("marian", MARIAN, 32, 48, 48, 4, ["ctranslate2", "transformers"]),
    "gpt2-1": ("gpt2", [], 1, 32, 64, 1, ["transformers"]),
    "gpt2-32": ("gpt2", [], 32, 32, 64, 1, ["transformers"]),
    "t5-greedy": ("t5", T5, 32, 48, 48, 1, ["transformers"]),
    "nllb-greedy": ("m2m_100", NLLB, 32, 32, 16, 1, ["transformers"]),
    "bigbird-pegasus": ("bigbird_pegasus", LARGE, 1, 4096, 128, 5, ["transformers"]),
    "led-4096": ("led", LED, 1, 4096, 8, 1, []),
    "led-8192": ("led", LED, 1, 8192, 8, 1, []),
    "led-16384": ("led", LED, 1, 16384, 8, 1, []),
}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = programs.ROOT / "build/release/bin"
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", build / "weft"), help="the weft program, which makes the weights")
    parser.add_argument("--bench", default=build / "bench_generation", help="the program that is timed, of a build with -DWEFT_BENCH=ON")
    parser.add_argument("--peer-python", default=os.environ.get("WEFT_PEER_PYTHON"), help="a Python that has ctranslate2, torch and transformers")
    parser.add_argument("--cases", nargs="+", choices=CASES, help="what to measure (default: every case that can run)")
    parser.add_argument("--weights", nargs="+", choices=["float32", "bfloat16", "int8"], default=["float32"],
                        help="what each program keeps its weights as; each only where the program has it")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each program")
    parser.add_argument("--repeats", type=int, default=2, help="timed runs of a turn")
    parser.add_argument("--threads", type=int, default=2, help="threads of each program")
    parser.add_argument("--init-std", type=float, default=0.02, help="standard deviation of the weights; T5 keeps its own. Far larger ones write the same token again and again")
    parser.add_argument("--seed", type=int, default=0, help="of weights and sources")
    parser.add_argument("--folder", type=pathlib.Path, help="where the directories of weights stay; absent: a temporary one")
    parser.add_argument("--may-differ", action="store_true", help="count texts that differ from those of the peer, instead of refusing to time")
    chosen = parser.parse_args()
    chosen.cases = chosen.cases or [case for case in CASES if can_run(chosen, case)]
    for case in chosen.cases:
        if not can_run(chosen, case):
            parser.error(f"{case}: transformers makes the weights of GPT-2; give --peer-python")
    return chosen


def can_run(chosen, case):
    return CASES[case][0] != "gpt2" or chosen.peer_python


def write_sources(path, batch, length, seed):
    """A safetensors file with input_ids int64 [batch, length]: ids that every family has and none gives a special meaning."""
    draw = random.Random(seed)
    ids = struct.pack(f"<{batch * length}q", *(draw.randrange(200, 32000) for _ in range(batch * length)))
    header = json.dumps({"input_ids": {"dtype": "I64", "shape": [batch, length], "data_offsets": [0, len(ids)]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + ids)


def flip_signs(path, ending, seed):
    """Gives half of the numbers of a float32 tensor, a norm of weights 1, the other sign. The last norm of a decoder stands before the token
    table: with all signs equal the likeliest token is the one that was read last, and every text is one token over and over."""
    draw = random.Random(seed)
    with open(path, "r+b") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        first = file.tell()
        begin, end = next(value["data_offsets"] for name, value in header.items() if name.endswith(ending))
        file.seek(first + begin)
        file.write(struct.pack(f"<{(end - begin) // 4}f", *(draw.choice((-1.0, 1.0)) for _ in range((end - begin) // 4))))


def prepared(chosen, case, folder):
    """The directory of weights and the file of sources of a case."""
    family, shape, batch, length, _, _, _ = CASES[case]
    directory = folder / f"{family}-{chosen.init_std}-{chosen.seed}"
    if not directory.exists():
        unfinished = pathlib.Path(tempfile.mkdtemp(dir=folder)) / family
        if family == "gpt2":
            programs.run([chosen.peer_python, PEERS, "make-gpt2", unfinished, "none", "--seed", chosen.seed])
        else:
            spread = [] if family == "t5" else ["--init-std", chosen.init_std]
            programs.weft(chosen.weft, "init", "--family", family, *shape, *spread, "--seed", chosen.seed, "--out", unfinished)
            flip_signs(unfinished / "model.safetensors", LAST_NORMS[family], chosen.seed)
        unfinished.rename(directory)
        unfinished.parent.rmdir()
    write_sources(folder / f"{case}.safetensors", batch, length, chosen.seed)
    return directory, folder / f"{case}.safetensors"


def run(chosen, case, program, paths, repeats):
    """One process of a program: its name, or that and what it keeps its weights as."""
    _, _, _, _, new, beams, _ = CASES[case]
    name, _, weights = program.partition(":")
    command = [chosen.bench] if name == "weft" else [chosen.peer_python, PEERS, name]
    return programs.json_of(programs.run([*command, *paths, "--new", new, "--beams", beams, "--repeats", repeats, "--threads", chosen.threads,
                                          "--weights", weights or "float32"]))


def programs_of(chosen, case):
    """Weft in float32, then what was asked for: `name` in float32, `name:weights` else."""
    peers = CASES[case][-1] if chosen.peer_python else []
    names = ["weft"]
    for weights in chosen.weights:
        for name in ["weft", *peers]:
            if not (name == "transformers" and weights == "int8") and not (name == "ctranslate2" and weights == "bfloat16"):
                names.append(name if weights == "float32" else f"{name}:{weights}")
    return list(dict.fromkeys(names))


def different(ours, theirs):
    """How many texts are not equal to the other program's."""
    return sum(mine != other for mine, other in zip(ours["ids"], theirs["ids"], strict=True))


def compare(chosen, case, names, paths):
    """For each program how many of its texts differ from Weft's; ends the comparison where they may not."""
    first = {name: run(chosen, case, name, paths, 0) for name in names}
    counts = {name: different(first["weft"], result) for name, result in first.items()}
    for name, count in counts.items():
        if count and not chosen.may_differ and ":" not in name:
            raise SystemExit(f"{case}: {count} of {len(first['weft']['ids'])} texts of {name} differ from Weft's: nothing was timed; "
                             "give another --seed or --init-std, or --may-differ where two scores are nearly equal")
    return counts


def measured(chosen, case, names, paths):
    """Of each program the seconds of all its turns, and the largest peak; who begins changes from turn to turn."""
    turns = {name: [] for name in names}
    for turn in range(chosen.rounds):
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            turns[name].append(run(chosen, case, name, paths, chosen.repeats))
    return turns


def summary(case, name, turns, weft_seconds, weft_peak, differing):
    _, _, batch, source, new, beams, _ = CASES[case]
    seconds = sorted(second for turn in turns for second in turn["seconds"])
    middle, peak = statistics.median(seconds), max(turn["peak_gb"] for turn in turns)
    line = {"case": case, "program": turns[0].get("program", "weft"), "weights": name.partition(":")[2] or "float32", "batch": batch, "source": source, "new": new, "beams": beams,
            "seconds": round(middle, 4), "least": round(seconds[0], 4), "most": round(seconds[-1], 4),
            "first_seconds": round(statistics.median(turn["first_seconds"] for turn in turns), 4),
            "tokens_per_second": round(batch * new / middle, 1), "peak_gb": round(peak, 3), "different_texts": differing}
    line["processor_seconds"] = round(statistics.median(second for turn in turns for second in turn["processor_seconds"]), 4)
    encoder = [second for turn in turns for second in turn.get("encoder_seconds", [])]
    if encoder:
        line["encoder_seconds"] = round(statistics.median(encoder), 4)
    if name != "weft":
        line |= {"times_weft": round(middle / weft_seconds, 3), "memory_times_weft": round(peak / weft_peak, 3)}
    return line


def main():
    chosen = options()
    programs.check_built(chosen.bench)
    print("machine:", programs.machine(), flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for case in chosen.cases:
            names = programs_of(chosen, case)
            paths = prepared(chosen, case, folder)
            differing = compare(chosen, case, names, paths) if len(names) > 1 else {"weft": 0}
            turns = measured(chosen, case, names, paths)
            ours = summary(case, "weft", turns["weft"], None, None, 0)
            for name in names:
                print(json.dumps(summary(case, name, turns[name], ours["seconds"], ours["peak_gb"], differing[name])), flush=True)


if __name__ == "__main__":
    main()
