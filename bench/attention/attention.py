#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The attention operator over patterns, lengths and dtypes: a table of times and efficiencies, and a plot of time against length.

Every figure is one run of `weft bench attention`, which checks the result before it times it, beside LibTorch's dense attention.

    bench/attention/attention.py --out FOLDER [--lengths 1024 4096 16384] [--dtypes float32 bfloat16] [--peer ATTENTION.py]

FOLDER gets results.jsonl, table.md and time.svg. --peer names a script that times compiled FlexAttention with three blocks of
window and one global block at each end, and prints JSON with `flex_ms`: it is run beside the same pattern here.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import plot  # noqa: E402
import programs  # noqa: E402

BIGBIRD = "block(64, global(first=1, last=1) | window(3))"
PATTERNS = [BIGBIRD, "window(512)", "causal & window(left=512, right=0)", "full"]
LONGEST_FULL = 8192
COLUMNS = ["pattern", "length", "dtype", "forward_ms", "efficiency", "forward_backward_ms", "forward_backward_efficiency",
           "gflops", "gemm_gflops", "workspace_bytes"]


def options():
    parser = programs.parser(__doc__)
    parser.set_defaults(peer=None)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the table and the plot")
    parser.add_argument("--patterns", nargs="+", default=PATTERNS)
    parser.add_argument("--lengths", nargs="+", type=int, default=[1024, 4096, 16384])
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--head-dim", type=int, default=64)
    return programs.checked(parser.parse_args())


def bench(chosen, pattern, length, dtype):
    return programs.weft(chosen.weft, "bench", "attention", "--pattern", pattern, "--length", length, "--dtype", dtype,
                         "--heads", chosen.heads, "--head-dim", chosen.head_dim, "--backward")


def flex(chosen, length, dtype):
    """Milliseconds of the peer's compiled FlexAttention."""
    shape = ["--heads", chosen.heads, "--dim", chosen.head_dim]
    return programs.json_of(programs.run([chosen.peer_python, chosen.peer, length, dtype, *shape]))["flex_ms"]


def measure(chosen):
    for dtype in chosen.dtypes:
        for pattern in chosen.patterns:
            for length in chosen.lengths:
                if pattern == "full" and length > LONGEST_FULL:
                    continue
                result = bench(chosen, pattern, length, dtype)
                if chosen.peer and pattern == BIGBIRD:
                    result["flex_ms"] = flex(chosen, length, dtype)
                    result["over_flex"] = result["flex_ms"] / result["forward_ms"]
                yield result


def cell(value):
    return f"{value:.3g}" if isinstance(value, float) else ("" if value is None else str(value).replace("|", "\\|"))


def table(results):
    columns = COLUMNS + (["flex_ms", "over_flex"] if any("flex_ms" in result for result in results) else [])
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(cell(result.get(column)) for column in columns) + " |" for result in results]
    return "\n".join(lines) + "\n"


def curves(results):
    """{name: [(length, milliseconds)]} of the forward pass, dense attention beside each dtype."""
    named = {}
    for result in results:
        named.setdefault(f"{result['pattern']}, {result['dtype']}", []).append((result["length"], result["forward_ms"]))
        if result["dense_forward_ms"] and result["pattern"] == results[0]["pattern"]:
            named.setdefault(f"dense, {result['dtype']}", []).append((result["length"], result["dense_forward_ms"]))
    return named


def main():
    chosen = options()
    chosen.out.mkdir(parents=True, exist_ok=True)
    print("machine:", programs.machine(), flush=True)
    results = []
    with open(chosen.out / "results.jsonl", "w") as lines:
        for result in measure(chosen):
            results.append(result)
            print(json.dumps(result), file=lines, flush=True)
    text = f"{programs.machine()}; instruction set {results[0]['isa']}, {results[0]['threads']} threads\n\n{table(results)}"
    (chosen.out / "table.md").write_text(text)
    (chosen.out / "time.svg").write_text(plot.lines(curves(results), "length in tokens", "forward pass, milliseconds"))
    print(text)


if __name__ == "__main__":
    main()
