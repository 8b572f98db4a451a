# SPDX-License-Identifier: Apache-2.0
"""A pattern as a value: the canonical text of an expression, and what can be asked of it without PyTorch."""
import functools
import json
import operator

from . import _core
from ._errors import ArgumentError
from ._settings import plain_json
from ._texts import text_of

_PICTURE_LENGTH = 64
_PICTURE_HEADS = (1, 2, 3, 4, 6, 8, 12, 16)


class Pattern:
    """Which position looks at which, as an expression of the pattern language.

    `Pattern("causal & window(512)")` parses the expression and keeps its canonical text: two patterns are equal when
    their texts are. A pattern cannot be changed; it can be hashed, pickled, and used in a compiled function. `a | b` has
    the edges of both, `a & b` those that both have, `~a` all others. Nothing of it needs PyTorch.

    Methods that look at edges take the lengths of a call: `length` queries over `key_length` keys (as many, where it is
    None), the number of heads, the number of the layer, `offset`, the position of the first query, and `input`, the
    positions that `input` of the expression means.

    Args:
        expression: a str, or a `Pattern`.
        directory: below it lie the files that the expression names; the working directory where it is None.

    Raises:
        PatternError: the expression does not parse; with `line` and `column`.
        ArgumentError: the expression is no text. Of the methods: a length, or another number, is no whole number.
        TypeError: the expression is neither of them.
    """

    __slots__ = ("_directory", "_text")

    def __init__(self, expression, *, directory=None):
        if isinstance(expression, Pattern):
            directory = expression._directory if directory is None else directory
            expression = expression._text
        if not isinstance(expression, str):
            raise TypeError(f"an expression is a str or a Pattern, found {type(expression).__name__}")
        place = "" if directory is None else str(directory)
        object.__setattr__(self, "_text", canonical(expression, place))
        object.__setattr__(self, "_directory", place)

    def __setattr__(self, name, value):
        raise AttributeError(f"a Pattern cannot be changed (its attribute {name!r} was assigned); make another one")

    __delattr__ = None

    @property
    def expression(self):
        """The canonical text, as `str(pattern)` gives it."""
        return self._text

    def __str__(self):
        return self._text

    def __repr__(self):
        return f"Pattern({self._text!r})"

    def __eq__(self, other):
        return self._text == other._text if isinstance(other, Pattern) else NotImplemented

    def __hash__(self):
        return hash(self._text)

    def __reduce__(self):
        return _restored, (self._text, self._directory)

    def __or__(self, other):
        return self._joined("|", other)

    def __and__(self, other):
        return self._joined("&", other)

    def __invert__(self):
        return Pattern(f"!({self._text})", directory=self._directory)

    def _joined(self, operator, other):
        if not isinstance(other, (Pattern, str)):
            return NotImplemented
        other = Pattern(other)
        if other._directory and self._directory and other._directory != self._directory:
            raise ArgumentError(
                f"patterns of two directories cannot be joined: {self._directory!r} and {other._directory!r}"
            )
        text = f"({self._text}) {operator} ({other._text})"
        return Pattern(text, directory=self._directory or other._directory)

    def expanded(self):
        """The pattern with the names of published models replaced by what they mean."""
        return Pattern(_core.expanded(self._text, self._directory), directory=self._directory)

    @property
    def needs_input(self):
        """Whether the expression names `input`, positions that a call binds."""
        return _core.needs_input(self._text, self._directory)

    @property
    def depends_on_layer(self):
        """Whether the edges may differ from layer to layer."""
        return _core.depends_on_layer(self._text, self._directory)

    def _blocks(self, length, key_length=None, *, heads=1, layer=0, offset=0, input=(), tile=64):
        """The compiled blocks of tile x tile pairs, as `_core.blocks` gives them."""
        site = _site(length, key_length, heads, layer, offset, input)
        return _core.blocks(self._text, site, self._directory, _whole("tile", tile))

    def check(self, length, key_length=None, *, heads=1, layer=0, offset=0, input=()):
        """Raises PatternError where the pattern does not fit these lengths and heads, and ArgumentError where a length or
        a number of heads is none."""
        _core.check(self._text, _site(length, key_length, heads, layer, offset, input), self._directory)

    def to_dense(self, length, key_length=None, *, heads=1, layer=0, offset=0, input=()):
        """Every pair: a memoryview of int32 [heads, length, key_length], 0 where there is no edge, 1 where there is one.
        A larger number m adds log(m) to the score. `numpy.asarray(...)` and `torch.tensor(....tolist())` read it. Raises
        PatternError as `check` does, and ArgumentError for more than 2^30 pairs."""
        site = _site(length, key_length, heads, layer, offset, input)
        table = _core.to_dense(self._text, site, self._directory)
        shape = [int(number) for number in (heads, length, length if key_length is None else key_length)]
        return memoryview(table).cast("i", shape) if len(table) else memoryview(table)

    def statistics(self, length, *, heads=1, head=None, layer=0, layers=0, input=()):
        """What the graph is at a length, as the dict that `weft pattern stats --json` prints: edges, density, blocks,
        paths, clustering, spectral gap. All heads together, or the one of number `head`; with `layers`, a number of them,
        how far each of them reaches."""
        site = _site(length, None, heads, layer, 0, input)
        return json.loads(_core.statistics(self._text, site, self._directory, _head(head), _whole("layers", layers)))

    def cost(self, length, *, input=(), **shape):
        """Operations, bytes and memory of a model with this attention over `length` tokens, as the dict that
        `weft pattern cost --json` prints. `shape` are its numbers by keyword: layers, width, heads, dtype, and so on.
        Raises WeftError for a name or a number that is none."""
        asked = _whole("length", length), plain_json(shape), _wholes("input", input)
        return json.loads(_core.cost(self._text, *asked, self._directory))

    def svg(self, length=_PICTURE_LENGTH, *, heads=1, head=None, layer=0, cells=128, input=()):
        """A picture as the text of an SVG file of at most 40 kB: a panel a head, or the one of number `head`, of at most
        `cells` by `cells` cells (8 to 384), fewer where the file would be larger."""
        site = _site(length, None, heads, layer, 0, input)
        return _core.svg(self._text, site, self._directory, _head(head), _whole("cells", cells))

    def text(self, length=_PICTURE_LENGTH, *, heads=1, head=None, layer=0, width=80, style="unicode", input=()):
        """A picture of characters; the style is "unicode", "ascii" or "colour" (a terminal's)."""
        site = _site(length, None, heads, layer, 0, input)
        return _core.text(self._text, site, self._directory, _head(head), _whole("width", width), style)

    def _repr_svg_(self):
        """What a notebook shows: as many heads as the expression needs, if they are few."""
        for heads in _PICTURE_HEADS:
            try:
                return self.svg(heads=heads)
            except ValueError:
                continue
        return None


@functools.lru_cache(maxsize=1024)
def _parsed(expression):
    return _core.parse(text_of("Pattern", "the expression", expression), "")


def canonical(expression, directory=""):
    """The canonical text of an expression; PatternError where it does not parse."""
    # A file may be another one tomorrow, so that only texts without files are remembered.
    if directory or "edges" in expression:
        return _core.parse(text_of("Pattern", "the expression", expression), directory)
    return _parsed(expression)


def _restored(text, directory):
    return Pattern(text, directory=directory)


def _site(length, key_length, heads, layer, offset, input):
    length = _whole("length", length)
    keys = length if key_length is None else _whole("key_length", key_length)
    return _core.Site(
        length,
        keys,
        heads=_whole("heads", heads),
        layer=_whole("layer", layer),
        query_offset=_whole("offset", offset),
        input=_wholes("input", input),
    )


def _head(head):
    return -1 if head is None else _whole("head", head)


def _wholes(name, numbers):
    return [_whole(name, number) for number in numbers]


def _whole(name, value):
    """A whole number that 64 bits with a sign hold; `name` is what the caller knows it by."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{name}: expected a whole number, found {value!r:.80}, a {type(value).__name__}") from None
    if not -(1 << 63) <= number < 1 << 63:
        raise ArgumentError(f"{name}: expected a number of at most 63 bits, found one of {number.bit_length()}")
    return number
