# SPDX-License-Identifier: Apache-2.0
"""What a mask function means while torch.compile traces, when no number of a mask can be read: functions of transformers
are known by their code. Any other mask ends the graph there, so that it is read as it is without torch.compile."""
import torch
from transformers import masking_utils

from ._reading import Asked, band_text, read


@torch._dynamo.assume_constant_result
def traced_expression(mask_function):
    """The expression of a mask function, or None. Dynamo calls it once, while it traces."""
    band = _band(mask_function)
    text = None if band is None else band_text(*band)
    if text is None:
        return None
    # What its code is taken for is tried at a length at which every side of the band ends.
    length = 2 * (max(side or 0 for side in band) + 8)
    return text if read(Asked(mask_function, 1, length, length)).rows == [text] else None


def _band(function):
    """(left, right) as band_text takes them; None for what is no band."""
    code = getattr(function, "__code__", None)
    if code is masking_utils.causal_mask_function.__code__:
        return None, 0
    if code is masking_utils.bidirectional_mask_function.__code__:
        return None, None
    if code is _inner(masking_utils.sliding_window_overlay, 1):
        return function.__closure__[0].cell_contents - 1, None
    if code is _inner(masking_utils.sliding_window_bidirectional_overlay, 1):
        return (function.__closure__[0].cell_contents,) * 2
    if code is _inner(masking_utils.and_masks):
        bands = [_band(part) for part in function.__closure__[0].cell_contents]
        return None if None in bands else _narrowest(bands)
    return None


def _inner(maker, *arguments):
    return maker(*arguments).__code__


def _narrowest(bands):
    sides = zip(*bands)
    return tuple(min((end for end in side if end is not None), default=None) for side in sides)
