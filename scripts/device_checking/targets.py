# SPDX-License-Identifier: Apache-2.0
"""What is to be reached on Hopper at 16,384 tokens in bfloat16, as ratios of times in one run, and whether it was."""
import dataclasses

LENGTH = 16384


@dataclasses.dataclass(frozen=True)
class Target:
    name: str
    rival: tuple  # who, pattern: FlexAttention's size of blocks is in its name
    pattern: str
    way: str  # forward, both
    least: float
    aim: float | None = None


TARGETS = (
    Target("window forward over FlexAttention", ("flex128", "window"), "window", "forward", 1.3, 1.5),
    Target("window both ways over FlexAttention", ("flex128", "window"), "window", "both", 1.3, 1.6),
    Target("BigBird forward over FlexAttention with blocks of 64", ("flex64", "bigbird"), "bigbird", "forward", 2.5, 3.0),
    Target("BigBird both ways over FlexAttention with blocks of 128", ("flex128", "bigbird"), "bigbird", "both", 8.0, 10.0),
    Target("Longformer forward over FlexAttention", ("flex128", "longformer"), "longformer", "forward", 5.0, 6.0),
    Target("Longformer both ways over FlexAttention", ("flex128", "longformer"), "longformer", "both", 3.5, 4.0),
    Target("dense blocks forward over cuDNN", ("cudnn", "dense"), "dense", "forward", 0.85, 0.95),
    Target("window forward over dense cuDNN", ("cudnn", "dense"), "window", "forward", 14.0, 22.0),
    Target("BigBird forward over dense cuDNN", ("cudnn", "dense"), "bigbird", "forward", 14.0, 20.0),
    Target("Longformer forward over dense cuDNN", ("cudnn", "dense"), "longformer", "forward", 14.0, 18.0),
)
# Of whole models at 4,096 tokens: transformers' time of a forward pass over ours.
MODEL_FORWARD = 6.0
# Of a training step of whole models at 4,096 tokens: transformers' time over ours, and its memory over ours.
TRAINING_STEP = 4.0
TRAINING_MEMORY = 3.0


def judged(lines, length=LENGTH):
    """A line a target from the lines of times: {"target", "ratio", "verdict": held, "short by ...", or "not run" with the reason}."""
    times = {(line["who"], line["pattern"]): line for line in lines if line.get("length") == length and "who" in line}
    for target in TARGETS:
        ours, theirs = times.get(("weft", target.pattern)), times.get(target.rival)
        line = {"part": "targets", "target": target.name, "least": target.least, "aim": target.aim}
        missing = next((name for name, of in (("weft", ours), (target.rival[0], theirs)) if of is None or of.get(target.way) is None), None)
        if missing:
            yield {**line, "ratio": None, "verdict": f"not run: no time of {missing}"}
            continue
        ratio = theirs[target.way] / ours[target.way]
        yield {**line, "ratio": ratio, "verdict": verdict(ratio, target.least, target.aim)}


def verdict(ratio, least, aim):
    if aim is not None and ratio >= aim:
        return "held, and the aim"
    if ratio >= least:
        return "held"
    return f"short by {100 * (1 - ratio / least):.0f}%"
