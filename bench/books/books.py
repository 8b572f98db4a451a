#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bits per byte on held-out books after the same minutes of training: weft with a long context beside a dense peer with 256 bytes.

Both read one file to train on and score the first megabyte of one other, with at least half a context before each byte: weft every
byte but the first, the peer all but its first half context and a rest at the end that fills no window (128 and at most 128 bytes). Run
it on a machine that does nothing else: the programs run one after the other.

    bench/books/books.py --train BOOKS/train --held-out BOOKS/val --peer PEER.py [--minutes M] [--weft-flags batch-size=2 ...]
    bench/books/books.py ... --contexts 256 512 1024 2048 4096 --plot contexts.svg    # what each evaluation context is worth
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import plot  # noqa: E402
import programs  # noqa: E402

HELD_OUT_BYTES = 1_000_000  # what the peer reads of any file
PEER_CONTEXT = 256


def options():
    parser = programs.parser(__doc__)
    parser.add_argument("--train", nargs="+", required=True, help="files and folders to train on")
    parser.add_argument("--held-out", nargs="+", required=True, help="files and folders to score")
    parser.add_argument("--attention", default="causal & window(left=512)", help="pattern of weft's layers")
    parser.add_argument("--context", type=int, default=2048, help="weft's context in bytes")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--weft-flags", nargs="*", default=[], help="more flags of `weft train`, without their dashes: batch-size=8")
    parser.add_argument("--contexts", nargs="*", type=int, default=[], help="evaluate weft with these contexts, too")
    parser.add_argument("--plot", type=pathlib.Path, help="SVG of bits per byte against them")
    return programs.checked(parser.parse_args())


def weft_bits(chosen, train, held_out, run):
    trained = programs.weft(
        chosen.weft, "train", "--train-text", train, "--attention", chosen.attention, "--context", chosen.context, "--layers",
        chosen.layers, "--width", chosen.width, "--heads", chosen.heads, "--dtype", chosen.dtype, "--minutes", chosen.minutes,
        *(f"--{flag}" for flag in chosen.weft_flags), "--out", run)
    return {"train": trained, "eval": scored(chosen, run, held_out, chosen.context)}


def scored(chosen, run, held_out, context):
    return programs.weft(chosen.weft, "eval", run, "--text", held_out, "--context", context, "--max-bytes", HELD_OUT_BYTES)


def by_context(chosen, run, held_out):
    """Prints bits per byte for every evaluation context, and draws them."""
    curve = []
    for context in chosen.contexts:
        found = scored(chosen, run, held_out, context)
        curve.append((context, found["bits_per_byte"]))
        print("context:", json.dumps(found), flush=True)
    if chosen.plot and curve:
        chosen.plot.write_text(plot.lines({f"trained with {chosen.context:,} bytes": curve}, "evaluation context in bytes",
                                          "bits per byte, held out", even=True))


def summary(chosen, ours, theirs, held_out_bytes):
    """The two figures that count, and what they were measured on."""
    result = {"minutes": chosen.minutes, "held_out_bytes": held_out_bytes, "weft": round(ours["eval"]["bits_per_byte"], 4),
              "weft_context": chosen.context, "weft_bytes_seen": ours["train"]["tokens"]}
    if theirs:
        result |= {"peer": theirs["bits_per_byte"], "peer_context": theirs["context"], "peer_bytes_seen": theirs["bytes_seen"]}
    return result


def main():
    chosen = options()
    print("machine:", programs.machine(), flush=True)
    with programs.texts(chosen) as (folder, train, held_out):
        ours = weft_bits(chosen, train, held_out, folder / "run")
        print("weft:", json.dumps(ours), flush=True)
        by_context(chosen, folder / "run", held_out)
        theirs = None
        if chosen.peer:
            theirs = programs.peer(chosen, train, held_out, PEER_CONTEXT)
            print("peer:", json.dumps(theirs), flush=True)
        print(json.dumps(summary(chosen, ours, theirs, min(HELD_OUT_BYTES, held_out.stat().st_size))))


if __name__ == "__main__":
    main()
