#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""BLEU on held-out sentences after the same minutes of training: weft beside a plain PyTorch translator.

Both read the same aligned files, learn a vocabulary, train from random weights for so many minutes and translate the held-out sources
greedily. Weft measures its own BLEU; the peer uses sacrebleu, and both count as sacrebleu's default does. The programs run one
after the other on all cores: run it on a machine that does nothing else.

    bench/translation/translation.py --train DATA/train.de DATA/train.en --held-out DATA/val.de DATA/val.en --peer PEER.py
        [--minutes M] [--weft-flags preset=transformer-small ...] [--peer-flags layers=2 ...]
"""
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import programs  # noqa: E402


def options():
    parser = programs.parser(__doc__)
    parser.add_argument("--train", nargs=2, required=True, metavar=("SOURCE", "TARGET"), help="aligned files to train on")
    parser.add_argument("--held-out", nargs=2, required=True, metavar=("SOURCE", "TARGET"), help="aligned files to translate")
    parser.add_argument("--weft-flags", nargs="*", default=[], help="more flags of `weft train`, without their dashes: seed=1")
    parser.add_argument("--peer-flags", nargs="*", default=[], help="more flags of the peer, without their dashes: layers=2")
    return programs.checked(parser.parse_args())


def weft_bleu(chosen, run):
    source, target = chosen.train
    held_out_source, held_out_target = chosen.held_out
    return programs.weft(chosen.weft, "train", "--task", "translate", "--train-source", source, "--train-target", target, "--eval-source",
                         held_out_source, "--eval-target", held_out_target, "--minutes", chosen.minutes,
                         *(f"--{flag}" for flag in chosen.weft_flags), "--out", run)


def peer_bleu(chosen):
    """The last line of JSON that the peer prints: bleu, steps, target_tokens_per_second."""
    flags = [part for flag in chosen.peer_flags for part in f"--{flag}".split("=", 1)]
    printed = programs.run([chosen.peer_python, chosen.peer, *chosen.train, *chosen.held_out, "--minutes", chosen.minutes, *flags])
    return json.loads(printed.strip().splitlines()[-1])


def main():
    chosen = options()
    print("machine:", programs.machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        ours = weft_bleu(chosen, pathlib.Path(folder) / "run")
    print("weft:", json.dumps(ours), flush=True)
    result = {"minutes": chosen.minutes, "weft": round(ours["evaluation"]["bleu"], 2)}
    if chosen.peer:
        theirs = peer_bleu(chosen)
        print("peer:", json.dumps(theirs), flush=True)
        result |= {"peer": theirs["bleu"], "weft_above": round(ours["evaluation"]["bleu"] - theirs["bleu"], 2)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
