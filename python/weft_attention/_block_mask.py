# SPDX-License-Identifier: Apache-2.0
"""A pattern as the BlockMask of PyTorch's FlexAttention, for devices that `attend` does not compute on."""
from ._errors import UnsupportedError
from ._pattern import Pattern

_TILE = 128


def block_mask(pattern, length, key_length=None, *, heads=1, layer=0, offset=0, input=(), device="cpu"):
    """The edges of a pattern as a mask of PyTorch's FlexAttention, in blocks of 128 x 128 pairs.

        mask = weft.block_mask("causal & window(512)", 4096, device="cuda")
        out = torch.compile(flex_attention)(query, key, value, block_mask=mask)

    Args:
        pattern: an expression or a `Pattern`.
        length: the number of queries.
        key_length: the number of keys; as many where it is None.
        heads: those of the query. Where all have the same edges, the mask has one, which FlexAttention takes for any
            number.
        layer: the number that `layer` of the expression means.
        offset: the position of the first query.
        input: the positions that `input` of the expression means.
        device: where the mask is, which is that of the tensors.

    Returns:
        a `torch.nn.attention.flex_attention.BlockMask`.

    Raises:
        PatternError: as `Pattern.check`.
        UnsupportedError: the pattern counts some edges more than once, which a mask of bits cannot say.
    """
    import torch

    keys = length if key_length is None else key_length
    if length == 0 or keys == 0:
        raise UnsupportedError(f"FlexAttention has no mask of {length} queries and {keys} keys")
    settings = {"heads": heads, "layer": layer, "offset": offset, "input": input, "tile": _TILE}
    found = Pattern(pattern)._blocks(length, keys, **settings)
    cells, bits, group = _cells(torch, found, -(-length // _TILE), -(-keys // _TILE))
    return _made(torch, cells, bits, group, (length, keys), device)


def _cells(torch, found, rows, columns):
    """int32 [groups, rows, columns]: which mask a block has, 0 none, 1 all pairs; int64 [masks, 128, 2], their bits; and
    int32 [heads], the group of each head."""
    kinds = (torch.int32, torch.int64, torch.int32, torch.int32, torch.int64)
    group, row_begin, key_block, kind, bits = (
        torch.frombuffer(bytearray(part), dtype=dtype) if part else torch.empty(0, dtype=dtype)
        for part, dtype in zip(found, kinds)
    )
    counts = row_begin.diff()
    cells = torch.zeros(len(counts), columns, dtype=torch.int32)
    cells[torch.arange(len(counts)).repeat_interleave(counts), key_block.long()] = kind + 2
    ends = torch.tensor([0, -1], dtype=torch.int64)[:, None, None].expand(2, _TILE, _TILE // 64)
    return cells.view(-1, rows, columns), torch.cat([ends, bits.view(-1, _TILE, _TILE // 64)]), group


def _made(torch, cells, bits, group, lengths, device):
    from torch.nn.attention.flex_attention import BlockMask

    by_head = cells[group.long()] if len(cells) > 1 else cells
    full = by_head == 1
    # A block that the text ends in is asked pair by pair, so that nothing behind the end is looked at.
    full[:, lengths[0] // _TILE :] = False
    full[:, :, lengths[1] // _TILE :] = False
    some = (by_head > 0) & ~full
    cells, bits, group = cells.to(device), bits.to(device), group.to(device)
    heads_differ = len(cells) > 1

    def mask_mod(batch, head, query, key):
        chosen = group[head] if heads_differ else 0
        word = bits[cells[chosen, query // _TILE, key // _TILE], query % _TILE, key % _TILE // 64]
        return (word >> (key % 64) & 1).bool()

    parts = (*_listed(torch, some), *_listed(torch, full))
    parts = [part.to(device) for part in parts]
    return BlockMask.from_kv_blocks(*parts, BLOCK_SIZE=_TILE, mask_mod=mask_mod, seq_lengths=lengths)


def _listed(torch, chosen):
    """Of bool [heads, rows, columns]: how many blocks each row has, int32 [1, heads, rows], and which, those first."""
    counts = chosen.sum(-1, dtype=torch.int32)
    columns = torch.argsort(chosen.int(), dim=-1, descending=True, stable=True).int()
    return counts[None], columns[None]
