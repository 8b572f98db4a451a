// SPDX-License-Identifier: Apache-2.0
// The fused query/key/value projection taken apart into heads, rotary positions applied on the way: one pass over
// memory forwards and one backwards, which writes the gradient of the fused projection in place of three padded ones.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "weft/layers/rotary.h"

namespace weft::layers {

/// Query, key and value by head, before attention.
struct Heads {
  at::Tensor query;  ///< [B, H, N, D]
  at::Tensor key;    ///< [B, H_kv, N, D]
  at::Tensor value;  ///< [B, H_kv, N, D]
};

/// H and H_kv; H is a multiple of H_kv.
struct HeadCounts {
  std::int64_t query = 1;
  std::int64_t key_value = 1;
};

/// fused [B, N, (H + 2 H_kv) D], heads of queries first, then keys, then values. With a rotation, query and key are
/// turned and contiguous; the rest are views of `fused`. Double backward is an error.
Heads split_heads(const at::Tensor& fused, HeadCounts heads, const Rotation& rotation);

/// Queries whose scores are multiplied by `factor`, see BlockConfig::score_factor.
at::Tensor with_factor(const at::Tensor& queries, double factor);

}  // namespace weft::layers
