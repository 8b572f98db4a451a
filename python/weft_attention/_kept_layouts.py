# SPDX-License-Identifier: Apache-2.0
"""Layouts that are no expression: packed texts, chunks, images between words. A mask of pairs is cut into blocks, which
the operators keep under a name, and `attend` is given `kept:NAME` in place of an expression."""
import hashlib
import weakref

from ._native import load_operators

PREFIX = "kept:"
MOST_BYTES = 512 << 20
_TILE = 64
_living = weakref.WeakValueDictionary()


class KeptLayout:
    """Blocks of 64 x 64 pairs; `text` is what `attend` is given for them. The operators hold MOST_BYTES of layouts and
    drop the one that was not asked for longest: while this object lives, a layout that was dropped is made again."""

    def __init__(self, parts, text, queries, keys):
        self._parts = parts
        self._lengths = queries, keys
        self.text = text
        _living[text] = self

    def keep(self):
        """Hands the blocks to the operators, unless they have them."""
        import torch

        load_operators()
        torch.ops.weft.keep_layout(*self._parts, self.text[len(PREFIX) :], *self._lengths, MOST_BYTES)


def living_layout(text):
    """The object behind a text, or None where the text is an expression or its object is gone."""
    return _living.get(text) if text.startswith(PREFIX) else None


class BlockReader:
    """Reads the mask of one text, a slab of queries at a time: bool [rows, keys], rows a multiple of 64 but for the
    last slab."""

    def __init__(self, queries, keys):
        self._queries, self._keys = queries, keys
        self._row_begin, self._key_block, self._kind, self._bits = [0], [], [], []
        self._masks = 0

    def add(self, slab):
        import torch

        rows = slab.shape[0]
        heights, columns = -(-rows // _TILE), -(-self._keys // _TILE)
        padded = slab.new_zeros(heights * _TILE, columns * _TILE)
        padded[:rows, : self._keys] = slab
        counts = padded.view(heights, _TILE, columns, _TILE).sum((1, 3), dtype=torch.int32)
        full = counts == _sizes(torch, rows, heights)[:, None] * _sizes(torch, self._keys, columns)
        some = counts > 0
        row, column = some.nonzero(as_tuple=True)
        kind = torch.full(row.shape, -1, dtype=torch.int32)
        partial = (~full[row, column]).nonzero().flatten()
        kind[partial] = torch.arange(self._masks, self._masks + len(partial), dtype=torch.int32)
        self._masks += len(partial)
        cells = padded.view(heights, _TILE, columns, _TILE)[row[partial], :, column[partial]]
        self._bits.append((cells.long() << torch.arange(_TILE)).sum(-1).flatten())
        self._row_begin += (some.sum(1).cumsum(0) + self._row_begin[-1]).tolist()
        self._key_block.append(column.int())
        self._kind.append(kind)

    def kept(self):
        """The KeptLayout of what was read; the same object for equal contents."""
        import torch

        arrays = (self._key_block, self._kind, self._bits)
        parts = [torch.tensor(self._row_begin, dtype=torch.int64), *(torch.cat(array) for array in arrays)]
        digest = hashlib.sha256(f"{self._queries}x{self._keys}".encode())
        for part in parts:
            digest.update(part.numpy().tobytes())
        text = PREFIX + digest.hexdigest()[:32]
        return _living.get(text) or KeptLayout(parts, text, self._queries, self._keys)


def _sizes(torch, length, blocks):
    """int64 [blocks]: how many positions each block has."""
    sizes = torch.full((blocks,), _TILE)
    sizes[-1] = length - (blocks - 1) * _TILE
    return sizes
