#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Published findings about translators, run again in the small: label smoothing, BPE-dropout and back-translation, with seeds and deviations.

Each way trains a small Transformer from random weights for the same number of steps on the first sentences of two aligned files, once with each seed,
and translates the held-out sources greedily. For back-translation a model of the other direction, trained on the same sentences, translates the target
sentences that follow them. Steps are counted and not minutes, so that other programs on the machine change nothing.

    bench/translation/small.py --train DATA/train.de DATA/train.en --held-out DATA/val.de DATA/val.en [--pairs 6000] [--more 12000] [--steps 600] [--seeds 3]
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import programs  # noqa: E402

SHAPE = ["--preset", "transformer-small", "--batch-tokens", "1024", "--width", "128", "--layers", "2", "--heads", "4", "--encoder-ffn-dim", "256", "--decoder-ffn-dim", "256"]
NONE = ["--label-smoothing", "0"]
NOTHING = "_"  # for a word, or for all of a translation: an empty source is an error


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", programs.ROOT / "build/release/bin/weft"), help="the weft program")
    parser.add_argument("--train", nargs=2, required=True, type=pathlib.Path, metavar=("SOURCE", "TARGET"), help="aligned files to train on")
    parser.add_argument("--held-out", nargs=2, required=True, type=pathlib.Path, metavar=("SOURCE", "TARGET"), help="aligned files to translate")
    for name, value, words in (("pairs", 6000, "pairs to train on"), ("more", 12000, "further target sentences, to translate back"),
                               ("steps", 600, "of each training"), ("seeds", 3, "trainings of each way"), ("threads", 1, "of each training")):
        parser.add_argument(f"--{name}", type=int, default=value, help=f"{words} (default {value})")
    return parser.parse_args()


def lines(path):
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def written(path, texts):
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


def noised(sentence, draw):
    """Edunov et al. 2018: words are left out, replaced by a word that stands for nothing, and moved by at most three places."""
    words = [word if draw.random() >= 0.1 else NOTHING for word in sentence.split() if draw.random() >= 0.1]
    places = sorted(range(len(words)), key=lambda place: place + draw.uniform(0, 4))
    return " ".join(words[place] for place in places) or NOTHING


class Small:
    def __init__(self, chosen, folder):
        self.chosen, self.folder = chosen, folder
        sources, targets = map(lines, chosen.train)
        self.source = written(folder / "train.source", sources[:chosen.pairs])
        self.target = written(folder / "train.target", targets[:chosen.pairs])
        self.more = written(folder / "more.target", targets[chosen.pairs:chosen.pairs + chosen.more])

    def train(self, name, sources, targets, held_out, *flags):
        return programs.trained(self.chosen.weft, self.folder / name, "--task", "translate", "--train-source", *sources, "--train-target", *targets,
                                "--eval-source", held_out[0], "--eval-target", held_out[1], *SHAPE, "--steps", self.chosen.steps, "--threads", self.chosen.threads, *flags)

    def measure(self, way, sources, targets, *flags):
        """The BLEU of every seed."""
        found = [self.train(f"{way}-{seed}", sources, targets, self.chosen.held_out, *flags, "--seed", seed)["evaluation"]["bleu"]
                 for seed in range(1, self.chosen.seeds + 1)]
        deviation = statistics.stdev(found) if len(found) > 1 else None
        print(json.dumps({"way": way, "bleu": [round(one, 2) for one in found], "mean": round(statistics.mean(found), 2),
                          "deviation": deviation and round(deviation, 2)}), flush=True)

    def back_translations(self):
        """{way: its file of sources}, by a model of the other direction."""
        self.train("backwards", [self.target], [self.source], self.chosen.held_out[::-1], *NONE, "--seed", 1)
        ways = {"beam": ["--num-beams", "4"], "sampled": ["--do-sample", "--top-k", "0", "--seed", "1"]}
        found = {}
        for way, flags in ways.items():
            text = programs.run([self.chosen.weft, "translate", self.folder / "backwards", "--file", self.more, "--threads", self.chosen.threads, *flags])
            found[way] = written(self.folder / f"more.{way}", [line or NOTHING for line in text.split("\n")[:-1]])
        draw = random.Random(1)
        found["noised beam"] = written(self.folder / "more.noised", [noised(line, draw) for line in lines(found["beam"])])
        return found


def main():
    chosen = options()
    print("machine:", programs.machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        small = Small(chosen, pathlib.Path(folder))
        one = [small.source], [small.target]
        small.measure("neither", *one, *NONE)
        small.measure("label smoothing 0.1", *one, "--label-smoothing", "0.1")
        small.measure("BPE-dropout 0.1", *one, *NONE, "--bpe-dropout", "0.1")
        for way, sources in small.back_translations().items():
            small.measure(f"back-translation, {way}", [small.source, sources], [small.target, small.more], *NONE)


if __name__ == "__main__":
    main()
