# SPDX-License-Identifier: Apache-2.0
# The compiled module: patterns as strings. Nothing here needs PyTorch. tests/python/stubs_test.py compares it with the module.
from collections.abc import Sequence

version: str

def parse(expression: str, directory: str = "") -> str:
    """The canonical expression. Raises PatternError with line and column."""

def expanded(expression: str, directory: str = "") -> str:
    """The same with the names of published models replaced by what they mean."""

def needs_input(expression: str, directory: str = "") -> bool: ...
def depends_on_layer(expression: str, directory: str = "") -> bool: ...
def check(expression: str, site: Site, directory: str = "") -> None: ...
def to_dense(expression: str, site: Site, directory: str = "") -> bytes:
    """Multiplicities as int32 [heads, query_length, key_length] in the machine's order of bytes: 0 is no edge."""

def blocks(expression: str, site: Site, directory: str = "", tile: int = 64) -> tuple:
    """The compiled blocks of tile x tile pairs, as arrays in the machine's order of bytes: group int32 [heads], row_begin
    int64 [groups * rows + 1], key_block int32 [blocks], kind int32 [blocks] (-1 is full, else a mask), and the bits of
    masks, int64 [masks, tile, tile / 64]. Raises UnsupportedError where an edge counts more than once."""

def statistics(expression: str, site: Site, directory: str = "", head: int = -1, layers: int = 0) -> str:
    """JSON, as `weft pattern stats --json` prints it."""

def layout(expression: str, site: Site, directory: str = "") -> str:
    """JSON: what the compiled blocks cost at a site (edges, density, blocks, bytes)."""

def svg(expression: str, site: Site, directory: str = "", head: int = -1, cells: int = 128, bytes: int = 40000) -> str:
    """A picture of at most `bytes`, where so few are possible: cells are joined until it is small enough."""

def text(expression: str, site: Site, directory: str = "", head: int = -1, width: int = 80, style: str = "unicode") -> str: ...
def cost(expression: str, length: int, shape: str = "{}", input: Sequence[int] = [], directory: str = "") -> str:
    """JSON, as `weft pattern cost --json` prints it. `shape` is a JSON object of layers, width, heads, dtype, ..."""

def isa() -> str:
    """The instruction set that the operators compute with."""

def commands() -> list[str]:
    """The commands that need no tensors."""

def tensor_commands() -> list[str]:
    """The others, which the whole program has."""

def run(arguments: Sequence[str]) -> int:
    """A command of the program, as `weft` runs it: its exit code. Commands that need tensors say where they are."""

class Site:
    def __init__(
        self,
        query_length: int,
        key_length: int,
        *,
        heads: int = 1,
        layer: int = 0,
        query_offset: int = 0,
        maximum_length: int = 0,
        input: Sequence[int] = [],
    ) -> None: ...
