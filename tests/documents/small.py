# SPDX-License-Identifier: Apache-2.0
"""small.py BINARY ARGUMENTS...: what the documents call `weft`: the program with smaller numbers, so that hours of training take a second. Which flags
change, and to what, is below; all others are the document's."""

import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import forked  # noqa: E402

# Values behind these flags become these, as many as there were; a number that is smaller stays.
TRAIN = {"--steps": 2, "--batch-size": 1, "--eval-every": 2, "--checkpoint-every": 1, "--layers": 2, "--intermediate-size": 64, "--vocabulary-size": 400,
         "--batch-tokens": 4096, "--gradient-accumulation": 1, "--context": 16384}
SMALL = {"train": TRAIN, "tokenizer train": {"--vocabulary-size": 400}, "generate": {"--max-new-tokens": 8}, "summarize": {"--max-new-tokens": 8, "--max-length": 8},
         "init": {"--d-model": 16, "--encoder-layers": 1, "--decoder-layers": 1, "--num-hidden-layers": 2}, "bench mechanisms": {"--seconds": 1}}


def parsed(words):
    """[(flag or None, values)]: what stands before the first flag, then each flag with its values."""
    groups = [(None, [])]
    for word in words:
        if word.startswith("-") and len(word) > 1 and not word[1].isdigit():
            flag, equals, value = word.partition("=")
            groups.append((flag, [value] if equals else []))
        else:
            groups[-1][1].append(word)
    return groups


def train(flags):
    """Two steps of a small model. A list of attentions has one for each layer, so that it decides their number."""
    task = flags.get("--task", ["lm"])[0]
    for length in ("--minutes", "--epochs"):
        if flags.pop(length, None):
            flags["--steps"] = ["2"]
    if task == "embed":  # whose examples are each other's negatives
        flags["--batch-size"] = ["4"]
    if "--vocabulary-cutoffs" in flags:
        flags["--vocabulary-cutoffs"] = ["3", "6"]
    if task in ("lm", "mlm") and "--resume" not in flags and not flags.keys().isdisjoint({"--eval-text", "--eval-images", "--eval-audio"}):
        flags.setdefault("--max-eval-bytes", ["4000"])
    if flags.keys().isdisjoint({"--model", "--config", "--resume"}):
        (new_pair_model if task in ("translate", "summarize", "denoise") else new_language_model)(flags)


def new_language_model(flags):
    give(flags, {"--layers": "1", "--heads": "2", "--batch-size": "1"})
    if len(flags.get("--attention", [])) > 1:
        flags["--layers"] = [str(len(flags["--attention"]))]
    flags["--width"] = [str(8 * int(flags["--heads"][0]))]


def new_pair_model(flags):
    give(flags, {"--layers": "1", "--width": "16", "--heads": "2", "--vocabulary-size": "400"})


def evaluation(flags):
    if "--text" in flags:
        give(flags, {"--max-bytes": "4000"})


def new_directory(flags):
    if "--family" in flags and "--d-model" not in flags:
        give(flags, {"--num-hidden-layers": "1", "--hidden-size": "32", "--num-attention-heads": "2", "--intermediate-size": "64"})


def mechanisms(flags):
    flags |= {"--lengths": ["64,128"], "--seconds": ["0.2"]}


def served(flags):
    """At a port that is free."""
    flags |= {"--port": ["0"]}


def pictured(flags):
    if "--serve" in flags:
        flags["--serve"] = ["127.0.0.1:0"]


RULES = {"train": train, "eval": evaluation, "profile": evaluation, "init": new_directory, "bench mechanisms": mechanisms, "serve": served, "attention": pictured}


def give(flags, values):
    """What the document leaves to its default."""
    for flag, value in values.items():
        flags.setdefault(flag, [value])


def smaller(value, limit):
    return str(min(int(value), limit)) if value.isdigit() else value


def shrink(words):
    command = " ".join(words[:2]) if words[0] in ("bench", "tokenizer", "pattern", "data") else words[0]
    if "WEFT_DOCUMENTS_WHOLE" in os.environ and command != "serve":
        return words
    groups = parsed(words[len(command.split()):])
    plain, flags = groups[0][1], {}
    for flag, values in groups[1:]:
        flags[flag] = [*flags[flag], flag, *values] if flag in flags else values  # said twice, and again so on its way out
    for flag in SMALL.get(command, {}).keys() & flags.keys():
        flags[flag] = [smaller(value, SMALL[command][flag]) for value in flags[flag]]
    RULES.get(command, lambda _: None)(flags)
    made = [*command.split(), *plain]
    for flag, values in flags.items():
        made += [f"{flag}={values[0]}"] if flag == "--serve" else [flag, *values]
    return made


if __name__ == "__main__":
    binary, *arguments = sys.argv[1:]
    os.execv(forked.program(binary, os.environ), [binary, *(shrink(arguments) if arguments else [])])
