# SPDX-License-Identifier: Apache-2.0
"""What stands for a mask between the model, which asks for one, and its layers, which are given it: expressions and kept
layouts for the edges, a tensor for the padding. It looks like a tensor of [B, 1, Q, K] as far as models look."""

from .._errors import UnsupportedError


class Mask:
    """edges: what `attend` is given for each text of the batch, or once for all (Edges). keep: bool [B, K], False at
    padding, or None. offset: the position of the first query among the keys. positions_are_known: False for a mask that
    was a tensor of other queries than keys, whose first query is only taken for the last but so many."""

    dtype = None  # not a number's, so that no model adds it to scores
    ndim = 4

    def __init__(self, edges, keep, offset, shape, *, positions_are_known=True):
        self.edges = edges
        self.keep = keep
        self.offset = offset
        self.shape = shape
        self.positions_are_known = positions_are_known

    def dim(self):
        return self.ndim

    def size(self, dimension=None):
        return self.shape if dimension is None else self.shape[dimension]

    def __getitem__(self, index):
        """Models cut a mask to the keys that there are; all of them are there."""
        cut = index[3] if isinstance(index, tuple) and len(index) == 4 else None
        whole = isinstance(cut, slice) and cut.start in (None, 0) and cut.step in (None, 1)
        if whole and index[:3] == (slice(None),) * 3 and (cut.stop is None or cut.stop >= self.shape[3]):
            return self
        raise UnsupportedError(
            f"the model cuts a part out of its mask of {list(self.shape)}, which Weft holds as an expression",
            'load the model with attn_implementation="eager" for this',
        )

    def to(self, *args, **kwargs):
        return self

    def contiguous(self, *args, **kwargs):
        return self
