# SPDX-License-Identifier: Apache-2.0
"""What a check found as Markdown, for a page: the lines of device-check.jsonl as tables. Nothing here loads PyTorch."""

FLEX = ("flex128", "flex64")


def page(lines):
    """Lines of Markdown; a table without rows is left out."""
    facts = next((line for line in lines if line.get("part") == "facts"), {})
    yield f"{facts.get('device', 'no device')}, PyTorch {facts.get('torch', '?')}"
    for title, head, rows in (
        ("Attention, ms forward / both ways", ["", "Weft", "FlexAttention", "cuDNN, dense", "flash, dense"], list(attention(lines))),
        ("One query a text, us", ["", "Weft", "Weft, window", "flash"], list(decoded(lines))),
        ("Models", ["", "Weft", "transformers", "ratio", "GB", "transformers, GB"], list(models(lines))),
        ("Errors against float64", ["", "output", "gradients", "PyTorch's output", "PyTorch's gradients"], list(errors(lines))),
        ("Targets", ["", "ratio", "at least", ""], list(targets(lines))),
    ):
        if rows:
            yield from ("", f"{title}:", "", f"| {' | '.join(head)} |", f"| -- |{' --: |' * (len(head) - 1)}", *(f"| {' | '.join(row)} |" for row in rows))


def number(value, digits=3):
    return "-" if value is None else f"{value:,.{digits}g}" if abs(value) < 1000 else f"{value:,.0f}"


def both(line):
    return "-" if line is None else f"{number(line.get('forward'))} / {number(line.get('both'))}"


def attention(lines):
    times = {(line["who"], line["pattern"], line["length"]): line for line in lines if "who" in line and "length" in line}
    for pattern, length in sorted({(pattern, length) for who, pattern, length in times if who == "weft"}, key=lambda one: (one[1], one[0])):
        flex = [f"{both(times[who, pattern, length])} ({who[4:]})" for who in FLEX if (who, pattern, length) in times]
        rivals = [both(times.get((who, "dense", length))) for who in ("cudnn", "flash")]
        yield [f"{pattern}, {length:,}", both(times["weft", pattern, length]), ", ".join(flex) or "-", *rivals]


def decoded(lines):
    timed = [line for line in lines if line.get("part") == "decode" and "forward" in line]
    found = {(line["texts"], line["keys"], line["who"], line["pattern"]): line["forward"] for line in timed}
    for texts, keys in sorted({key[:2] for key in found}):
        ways = [found.get((texts, keys, *way)) for way in (("weft", "full"), ("weft", "window"), ("flash", "full"))]
        yield [f"{texts} {'text' if texts == 1 else 'texts'}, {keys:,} keys", *(number(None if way is None else 1e3 * way) for way in ways)]


def models(lines):
    for line in lines:
        if line.get("part") not in ("models", "steps") or "ratio" not in line:
            continue
        name = next(name for name in ("forward", "step", "milliseconds_a_token") if name in line)
        what = {"forward": "forward, ms", "step": "training step, ms", "milliseconds_a_token": "ms a token"}[name]
        memory = [number(line[key] / 1e9) if line.get(key) else "-" for key in ("bytes", "transformers_bytes")]
        again = f" ({number(line['transformers_replayed'])} from a graph)" if line.get("transformers_replayed") else ""
        yield [f"{line['model']}, {what}", number(line[name]), number(line[f"transformers_{name}"]) + again, number(line["ratio"]), *memory]


def errors(lines):
    """The largest of each dtype, over calls that PyTorch has, too."""
    worst = {}
    for line in lines:
        if line.get("part") == "exact" and line.get("rival"):
            dtype = next(word for word in line["call"].split() if word in ("bfloat16", "float16", "float32"))
            dtype += " as TF32" if line["call"].endswith("as TF32") else ""
            found = [line["errors"][0], max(line["errors"][1:]), line["rival"][0], max(line["rival"][1:])]
            worst[dtype] = [max(pair) for pair in zip(worst.get(dtype, found), found)]
    for dtype, found in sorted(worst.items()):
        yield [dtype, *(f"{of:.1e}" for of in found)]


def targets(lines):
    for line in lines:
        if line.get("part") == "targets":
            yield [line["target"], number(line["ratio"]), number(line["least"]), line["verdict"]]
