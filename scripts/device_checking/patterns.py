# SPDX-License-Identifier: Apache-2.0
"""The patterns that are timed, and which blocks of FlexAttention are tried on each. Nothing here loads PyTorch."""
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

# What one query sees of the keys before it: a token that is decoded. DECODED_KEYS are sizes of the cache, DECODED_TEXTS of the batch.
DECODED = {"full": "full", "window": f"causal & window(left={2 * WIDTH})"}
DECODED_KEYS = (4096, 16384, 65536)
DECODED_TEXTS = (1, 8)
