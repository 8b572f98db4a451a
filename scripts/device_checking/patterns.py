# SPDX-License-Identifier: Apache-2.0
"""The patterns that are timed, in our language and as FlexAttention takes them."""
import dataclasses

WIDTH = 256  # keys to each side
GLOBALS = 32


@dataclasses.dataclass(frozen=True)
class Timed:
    name: str
    expression: str
    flex_blocks: tuple  # sizes of FlexAttention's blocks that are tried
    is_dense: bool = False


TIMED = (
    Timed("window", f"window({2 * WIDTH})", (128,)),
    Timed("bigbird", "bigbird(block=64, window=3, random=3, plan=\"uniform\")", (64, 128)),
    Timed("longformer", f"window({2 * WIDTH}) | global({GLOBALS})", (128,)),
    Timed("dense", "full", (), is_dense=True),
)
BY_NAME = {timed.name: timed for timed in TIMED}


def flex_mask(torch, library, timed, heads, length, block, device):
    """A BlockMask of FlexAttention with the pattern's own blocks: it does not ask its function about every pair to find them, which takes
    up to 93 ms and memory by the square of the length."""
    from torch.nn.attention.flex_attention import BlockMask

    blocks = library.blocks(torch, timed.expression, heads, length, length, block).to(device)
    some, full = (_listed(torch, blocks == kind) for kind in (1, 2))
    mask = _function(torch, library, timed, heads, length, device)
    return BlockMask.from_kv_blocks(*some, *full, BLOCK_SIZE=block, mask_mod=mask, seq_lengths=(length, length))


def _listed(torch, wanted):
    """Numbers and places of the blocks of each row, those that are wanted first: [1, heads, rows] and [1, heads, rows, columns]."""
    counts = wanted.sum(-1, dtype=torch.int32)
    places = torch.argsort(wanted.to(torch.int8), dim=-1, descending=True, stable=True).to(torch.int32)
    return counts[None].contiguous(), places[None].contiguous()


def _function(torch, library, timed, heads, length, device):
    if timed.name == "window":
        return lambda batch, head, query, key: (query - key).abs() <= WIDTH
    if timed.name == "longformer":
        return lambda batch, head, query, key: ((query - key).abs() <= WIDTH) | (query < GLOBALS) | (key < GLOBALS)
    table = library.blocks(torch, timed.expression, heads, length, length, 64).to(device) != 0
    return lambda batch, head, query, key: table[head, query // 64, key // 64]
