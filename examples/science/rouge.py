# SPDX-License-Identifier: Apache-2.0
"""ROUGE of summaries, in percent."""
import json

from lines import json_lines


def rouge(world, summaries, references):
    files = world.scratch / "summaries.jsonl", world.scratch / "references.jsonl"
    for path, texts in zip(files, (summaries, references)):
        world.write(path, json_lines({"text": text} for text in texts))
    score = world.weft("score", "rouge", *files)
    return {name: 100 * score[name]["fmeasure"] for name in ("rouge1", "rouge2", "rougeLsum")}


def without_model(world, method, data, *flags):
    """The summaries of `weft summarize --method`, of the records of a file."""
    written = world.scratch / "written.jsonl"
    world.run("summarize", "--method", method, "--file", data, *flags, "--out", written)
    return [json.loads(line)["summary_text"] for line in written.read_text(encoding="utf-8").splitlines()]
