# SPDX-License-Identifier: Apache-2.0
"""Loads the operators weft::attend and weft::attend_backward into PyTorch, with their shapes and their gradients."""


def attend_operator():
    """torch.ops.weft.attend, loaded at the first call:

    attend(Tensor query, Tensor key, Tensor value, Tensor? key_keep, Tensor? seed, str pattern, int query_offset,
           int layer, float scale, float dropout) -> (Tensor out, Tensor log_sum_exp)

    query [B, H, Q, D], key [B, H_kv, K, D], value [B, H_kv, K, D_v] of one dtype (float32, bfloat16, float16) on the
    CPU; key_keep bool [B, K], False for padding; seed int64 of one element, needed where dropout > 0; out [B, H, Q, D_v]
    in the dtype of query, log_sum_exp float32 [B, H, Q]. Gradients for query, key and value.
    Raises UnsupportedError where PyTorch is absent or older than 2.11.
    """
    raise NotImplementedError
