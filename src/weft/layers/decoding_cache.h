// SPDX-License-Identifier: Apache-2.0
// Keys and values of the tokens that a decoder has seen, layer by layer, so that a new token computes only its own row.
// Storage grows geometrically: appending n tokens one by one copies O(n) rows in total.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::layers {

/// One text, or one batch of texts of equal length. Not for several threads at once.
class DecodingCache {
 public:
  /// Tokens that every layer holds.
  std::int64_t length() const noexcept { return length_; }

  /// Appends keys and values [B, H_kv, n, D] of `layer` behind the first length() tokens and returns views of all of
  /// them, both [B, H_kv, length() + n, D]. A view is valid until the next append to its layer. Errors: kArgument when
  /// batch, heads, head_dim, dtype or device differ from what the layer holds.
  std::pair<at::Tensor, at::Tensor> append(std::int64_t layer, const at::Tensor& keys, const at::Tensor& values);

  /// Counts the n tokens that every layer appended; called once after the last layer.
  void advance(std::int64_t tokens);

  /// Forgets all tokens from `length` on. Errors: kArgument when `length` exceeds length().
  void truncate(std::int64_t length);

  /// Bytes of storage held, spare capacity included.
  std::size_t bytes() const;

 private:
  struct Layer {
    at::Tensor keys;    // [B, H_kv, capacity, D]
    at::Tensor values;  // [B, H_kv, capacity, D]
  };
  std::vector<Layer> layers_;
  std::int64_t length_ = 0;
};

}  // namespace weft::layers
