# SPDX-License-Identifier: Apache-2.0
"""What a mask function of transformers means: it is asked for every pair, a slab of queries at a time, and becomes an
expression where one says exactly the same, else the blocks of a layout. What was read is remembered by the contents of
the function: its code, the numbers that it closes over, and the bytes of its tensors."""
import collections
import dataclasses
import functools
import hashlib
import types

import torch
from transformers.masking_utils import sdpa_mask

from .._kept_layouts import BlockReader

_SLAB_PAIRS = 1 << 24
_MOST_REMEMBERED = 256
_remembered = collections.OrderedDict()


@dataclasses.dataclass(frozen=True)
class Asked:
    """What a model asks of the mask function: for which texts, queries and keys, which begin at which positions."""

    mask_function: object
    batch: int
    queries: int
    keys: int
    offset: object = 0  # of a static cache a tensor
    key_offset: int = 0
    use_vmap: bool = False
    device: object = "cpu"

    @property
    def shape(self):
        return self.batch, 1, self.queries, self.keys

    def slab(self, first, rows):
        """bool [B, 1, rows, K], as transformers itself would make it."""
        return sdpa_mask(
            batch_size=self.batch,
            q_length=rows,
            kv_length=self.keys,
            q_offset=self.offset + first,
            kv_offset=self.key_offset,
            mask_function=self.mask_function,
            attention_mask=None,
            allow_is_causal_skip=False,
            allow_is_bidirectional_skip=False,
            use_vmap=self.use_vmap,
            device=self.device,
        )

    def slabs(self):
        """(first query, bool [B or 1, rows, K]), a part of the queries at a time."""
        step = _rows_of_slab(self.batch * self.keys)
        for first in range(0, self.queries, step):
            mask = self.slab(first, min(step, self.queries - first))
            # A function that does not look at the text is expanded over the batch, without memory.
            yield first, mask[:1, 0] if mask.stride(0) == 0 else mask[:, 0]


@dataclasses.dataclass(frozen=True)
class Edges:
    """rows: for each text of the batch, or once for all of them, what `attend` is given. kept: the layouts that rows
    name, which live as long as this does; without any, all rows are expressions."""

    rows: list
    kept: tuple = ()


def read(asked):
    """The Edges that a model asks for."""
    numbers = (asked.batch, asked.queries, asked.keys, asked.offset, asked.key_offset, asked.use_vmap)
    key = contents((asked.mask_function, *numbers))
    if key is not None and key in _remembered:
        _remembered.move_to_end(key)
        return _remembered[key]
    found = edges_of(asked.slabs, asked.queries, asked.keys, asked.offset - asked.key_offset)
    if key is not None and not found.kept:  # blocks are large; they are read anew
        _remembered[key] = found
        if len(_remembered) > _MOST_REMEMBERED:
            _remembered.popitem(last=False)
    return found


def read_tensor(mask, queries, keys):
    """The same of a mask that is a bool tensor [B or 1, 1, Q, K]; positions count from the first key."""
    if mask.shape[0] > 1 and mask.stride(0) == 0:
        mask = mask[:1]

    def slabs():
        step = _rows_of_slab(keys * mask.shape[0])
        for first in range(0, queries, step):
            yield first, mask[:, 0, first : first + step]

    return edges_of(slabs, queries, keys, max(keys - queries, 0))


def edges_of(slabs, queries, keys, offset):
    """`slabs()` gives (first query, bool [B or 1, rows, K])."""
    text = _expression_of(slabs, keys, offset)
    if text is not None:
        return Edges([text])
    readers = None
    for _, slab in slabs():
        if readers is None:
            readers = [BlockReader(queries, keys) for _ in range(slab.shape[0])]
        for row, reader in enumerate(readers):
            reader.add(slab[row])
    kept = tuple(reader.kept() for reader in readers)
    return Edges([layout.text for layout in kept], kept)


def _rows_of_slab(pairs_of_a_row):
    return max(64, _SLAB_PAIRS // max(1, pairs_of_a_row) // 64 * 64)


def _expression_of(slabs, keys, offset):
    """A band that all texts share, as `full`, `causal` or a window; None where some pair differs from it."""
    band = _Band(keys)
    for first, slab in slabs():
        for row in (0, slab.shape[1] // 2, slab.shape[1] - 1):
            if not band.widen(slab[0, row], first + row + offset):
                return None
    text = band_text(band.left, band.right)
    return text if text is not None and holds(band, slabs, offset) else None


def holds(band, slabs, offset):
    """Whether every pair is as the band says: three rows of a slab are alike in windows and in chunks."""
    positions = None
    for first, slab in slabs():
        if positions is None:
            positions = torch.arange(band.keys, device=slab.device)
        queries = torch.arange(first + offset, first + offset + slab.shape[1], device=slab.device)
        distance = positions - queries[:, None]
        wanted = torch.ones_like(distance, dtype=torch.bool)
        if band.left is not None:
            wanted &= distance >= -band.left
        if band.right is not None:
            wanted &= distance <= band.right
        if not torch.equal(slab, wanted.expand_as(slab)):
            return False
    return True


class _Band:
    """How far the rows reach to either side. A row that reaches the first or last key says nothing of that side."""

    def __init__(self, keys):
        self.keys = keys
        self.left = self.right = None

    def widen(self, row, position):
        """False for a row without keys, which no band has."""
        allowed = row.nonzero()
        if len(allowed) == 0:
            return False
        first, last = int(allowed[0]), int(allowed[-1])
        if first > 0:
            self.left = max(position - first, self.left or 0)
        if last < self.keys - 1:
            self.right = max(last - position, self.right or 0)
        return True


def band_text(left, right):
    """Keys from `left` before a query to `right` after it, where None has no end."""
    if left is None:
        return "full" if right is None else "causal" if right == 0 else None
    if right is None:
        return None
    return f"causal & window(left={left})" if right == 0 else f"window(left={left}, right={right})"


def contents(value):
    """Something equal for equal contents, or None where that cannot be said."""
    try:
        return _contents(value)
    except _Unknown:
        return None


class _Unknown(Exception):
    pass


def _contents(value):
    if value is None or isinstance(value, (bool, int, float, str, bytes, type, types.ModuleType, types.BuiltinFunctionType)):
        return type(value).__name__, value
    if isinstance(value, (tuple, list)):
        return type(value).__name__, *(_contents(part) for part in value)
    if isinstance(value, types.FunctionType):
        cells = tuple(_contents(cell.cell_contents) for cell in value.__closure__ or ())
        return "function", value.__code__, cells, _contents(value.__defaults__)
    if isinstance(value, functools.partial):
        return "partial", _contents(value.func), _contents(value.args), _contents(tuple(sorted(value.keywords.items())))
    if hasattr(value, "untyped_storage") and value.device.type == "cpu":
        found = value.detach().contiguous()
        if found.numel() > 1 << 22:
            raise _Unknown
        raw = found.view(-1).numpy().tobytes() if found.numel() else b""
        return "tensor", str(value.dtype), tuple(value.shape), hashlib.sha256(raw).digest()
    raise _Unknown
