# SPDX-License-Identifier: Apache-2.0
"""The calls that are checked against float64, those of most worth first, and their edges, which threads ask of the patterns meanwhile."""
import concurrent.futures
import dataclasses
import itertools
import os
import random

# The largest error that is allowed, relative to the norm of what is right, whatever PyTorch has: rounding of the result to the dtype and of the
# weights before the second product (half a unit each), and a quarter of that again for sums. Gradients have one product more.
MOST = {"bfloat16": (4e-3, 6e-3), "float16": (6e-4, 9e-4), "float32": (2e-6, 6e-6),
        "tf32": (2e-3, 4e-3)}  # factors of 11 bits, cut and not rounded, in both products
AHEAD = 60  # random calls whose edges are asked for before they are checked


@dataclasses.dataclass(frozen=True)
class Call:
    expression: str
    dtype: str = "bfloat16"
    batch: int = 1
    heads: int = 2
    key_heads: int = 2
    length: int = 300
    head_dim: int = 64
    value_dim: int = 64
    has_padding: bool = False
    is_by_rows: bool = False  # [B, N, H, D] in memory
    dropout: float = 0.0  # with the draws of the CPU
    is_tf32: bool = False  # float32 multiplied with 11 bits
    is_decoded: bool = False  # one query, behind all keys
    has_distances: bool = False  # a table is added to scores
    has_positions: bool = False  # rows see by positions, a permutation for each head

    def __str__(self):
        return (f"{self.expression} {self.dtype} B{self.batch} H{self.heads}/{self.key_heads} N{self.length} D{self.head_dim}/{self.value_dim}"
                f"{' one query' if self.is_decoded else ''}"
                f"{' padded' if self.has_padding else ''}{' by rows' if self.is_by_rows else ''}"
                f"{f' dropout {self.dropout}' if self.dropout else ''}{' as TF32' if self.is_tf32 else ''}"
                f"{' distances' if self.has_distances else ''}{' positions' if self.has_positions else ''}")

    def queries(self):
        return 1 if self.is_decoded else self.length

    def sites(self):
        """What the edges depend on, as Library.multiplicity takes it."""
        return self.expression, self.heads, self.queries(), self.length

    def is_against_flash(self):
        """Whether flash attention computes the same: all keys, each head with its own, 16 bits. Of fewer than 1,000 tokens chance decides which of two
        errors is the larger; with 1,000 the ratio scatters by 0.3%."""
        is_plain = not (self.has_padding or self.is_decoded or self.has_distances or self.has_positions or self.dropout)
        return (self.expression == "full" and self.dtype == "bfloat16" and self.length >= 1000 and self.heads == self.key_heads
                and self.head_dim == self.value_dim and is_plain)  # fmt: skip

    def most(self):
        return MOST["tf32" if self.is_tf32 else self.dtype]


def named_calls(is_small):
    """Those of which each has something of its own: dtypes, widths, tails, grouped heads, empty rows, weights, long rows, padding, strides."""
    length = 130 if is_small else 1000
    for dtype in ("bfloat16", "float16", "float32"):
        yield Call("window(64)", dtype, length=length)
    if not is_small:  # whole slices, which have kernels of their own on Hopper: full blocks and others, shared keys, parts that are joined
        for dropout in (0.0, 0.25):
            yield Call("window(150) | global(2)", length=1280, batch=2, heads=4, key_heads=2, dropout=dropout)
        yield Call("full", length=4096, heads=1, key_heads=1)  # parts that are joined
        for width in (128, 160, 256):
            yield Call("window(64)", length=length, head_dim=width, value_dim=width)
        yield Call("full", "float16", length=2048, heads=1, key_heads=1)
        yield Call("window(128) | global(40)", "float32", length=2500)
    for dtype in ("bfloat16", "float32"):
        yield Call("window(64) | global(2)", dtype, length=length, dropout=0.25, batch=2)
    yield Call("window(64)", "float32", length=length, is_tf32=True)
    yield Call("full", length=length)
    yield Call("causal & window(left=70)", heads=4, key_heads=2, length=length)
    yield Call("bigbird(block=16, window=3, random=1, plan=\"uniform\")", length=length, batch=2, has_padding=True)
    yield Call("window(32) | global(3)", "float16", length=length, is_by_rows=True)
    yield Call("causal & !window(left=20)", length=length)  # the first rows see nothing
    yield Call("circle(left=40, right=40)", "float32", length=70)  # steps that meet weigh twice
    yield Call("full", batch=2, heads=4, length=length, is_decoded=True, has_padding=True)
    yield Call("causal & window(left=90)", "float32", length=length, is_decoded=True)
    for dtype in ("bfloat16", "float32"):
        yield Call("window(150) | global(1)", dtype, length=length, has_distances=True)
    yield Call("causal & window(left=90)", "float16", length=length, has_distances=True, dropout=0.1)
    yield Call("full", key_heads=1, length=min(length, 300), has_positions=True)
    for width in (16, 40) if is_small else (16, 24, 32, 40, 80, 96):
        yield Call("window(64)", length=length, head_dim=width, value_dim=width)


# For compute-sanitizer: lengths that are multiples of 64, whose slices are whole, with blocks that are full and others, and dropout; then other lengths.
SANITIZED = (Call("window(40)", length=128), Call("window(40)", length=128, dropout=0.25), Call("window(40)", length=130),
             Call("window(16) | global(2)", "float32", length=70, has_padding=True),
             Call("window(40) | global(2)", length=130, batch=2, dropout=0.25), Call("full", length=300, is_decoded=True))  # fmt: skip
RACED = Call("window(40)", length=128, dropout=0.25)


def random_calls(seed, is_small):
    """Without end."""
    draw = random.Random(seed)
    while True:
        key_heads = draw.choice((1, 2))
        length = draw.randint(1, 150 if is_small else 1200)
        width = draw.choice((16, 32, 64)) if is_small else draw.choice((8, 16, 32, 64, 64, 72, 128, 192, 256))
        size = draw.randint(1, 200)
        expression = draw.choice((f"window({size})", f"causal & window(left={size})", f"window({size}) | global({draw.randint(1, 70)})", "full",
                                  f"causal & stride({draw.randint(2, 9)})", f"segment({size})", f"window({size}, dilation=3)"))
        yield Call(expression, draw.choice(("bfloat16", "float16", "float32")), draw.choice((1, 2)), key_heads * draw.choice((1, 3)), key_heads, length, width,
                   draw.choice((width, 64)), draw.random() < 0.3, draw.random() < 0.3)


def numbered(is_small, after=0):
    """(number, call), without end: the named calls from number 1 on, then random ones; those before `after` are left out."""
    every = enumerate(itertools.chain(named_calls(is_small), random_calls(1, is_small)), start=1)
    return itertools.dropwhile(lambda one: one[0] < after, every)


class Counts:
    """Edges of named calls and of the first random ones. They are asked of the patterns pair by pair, up to a second of a core a call: threads do it
    (the library does not hold Python meanwhile), the named ones first, so that no call waits for it while it has the GPU."""

    def __init__(self, library, is_small, after=0):
        self.library = library
        named = sum(1 for _ in named_calls(is_small))
        ahead = list(itertools.takewhile(lambda one: one[0] <= named + (0 if is_small else AHEAD), numbered(is_small, after)))
        self.threads = concurrent.futures.ThreadPoolExecutor(max(1, min(8, (os.cpu_count() or 1) - 1)))
        self.found = {}
        for _, call in ahead:
            if call.sites() not in self.found:
                self.found[call.sites()] = self.threads.submit(library.multiplicity, *call.sites())
        self.named = [self.found[call.sites()] for number, call in ahead if number <= named]

    def wait(self):
        """Until those of the named calls are there."""
        concurrent.futures.wait(self.named)

    def of(self, call):
        """uint8 [heads, queries, keys]."""
        found = self.found.get(call.sites())
        return found.result() if found else self.library.multiplicity(*call.sites())

    def close(self):
        """What nobody asked for is not computed any more."""
        self.threads.shutdown(wait=False, cancel_futures=True)
