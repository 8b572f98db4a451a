// SPDX-License-Identifier: Apache-2.0
// Long rows in blocks that see three blocks of keys.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/matmul.h>

#include <algorithm>
#include <vector>

#include "weft/attention/mechanisms/etc/etc_labels.h"
#include "weft/attention/mechanisms/etc/etc_rows.h"

namespace weft::attention {
namespace {

constexpr std::uint64_t kLongStream = 1;  // of dropout; global rows have 2

/// A text cut into blocks of `size` tokens, the last one with padding behind it.
struct Blocks {
  std::int64_t length;
  std::int64_t size;

  std::int64_t padding() const { return (size - length % size) % size; }

  /// [B, H, length, C] -> [B, H, blocks, size, C].
  at::Tensor of(const at::Tensor& rows) const {
    return at::constant_pad_nd(rows, {0, 0, 0, padding()}).unflatten(2, {-1, size});
  }
  /// [B, H, length, C] -> [B, H, blocks, 3 size, C], zeros beyond the ends.
  at::Tensor around(const at::Tensor& rows) const {
    return at::constant_pad_nd(rows, {0, 0, size, size + padding()}).unfold(2, 3 * size, size).transpose(-1, -2);
  }
  /// [B, length] -> [B, blocks, 1, 3 size].
  at::Tensor around_each(const at::Tensor& numbers) const {
    return at::constant_pad_nd(numbers, {size, size + padding()}).unfold(1, 3 * size, size).unsqueeze(2);
  }
  /// [B, length] -> [B, blocks, size, 1].
  at::Tensor each(const at::Tensor& numbers) const {
    return at::constant_pad_nd(numbers, {0, padding()}).unflatten(1, {-1, size}).unsqueeze(-1);
  }
  /// key - query, int64 [size, 3 size].
  at::Tensor distances(const at::TensorOptions& options) const {
    return at::arange(-size, 2 * size, options).unsqueeze(0) - at::arange(size, options).unsqueeze(1);
  }
};

/// Which keys of its three blocks a query sees, bool [B, blocks, size, 3 size].
at::Tensor window_edges(const Blocks& blocks, const at::Tensor& distance, const EtcPairs& pairs, std::int64_t radius) {
  const at::Tensor near = blocks.around_each(pairs.keep).logical_and(distance.abs() <= radius);
  const at::Tensor& segment = pairs.structure.segment;
  return segment.defined() ? near.logical_and(blocks.each(segment) == blocks.around_each(segment)) : near;
}

/// Which global tokens a query sees, bool [B, blocks, size, G].
at::Tensor global_edges(const Blocks& blocks, const EtcPairs& pairs, bool hard) {
  const at::Tensor kept = pairs.global_keep.unsqueeze(1).expand_as(pairs.own);
  return blocks.of((hard ? kept.logical_and(pairs.own) : kept).unsqueeze(1)).squeeze(1);
}

}  // namespace

at::Tensor long_rows(const EtcRows& tokens, const EtcRows& globals, const EtcPairs& pairs, const EtcShape& shape) {
  const std::int64_t length = tokens.query.size(2);
  const Blocks blocks{length, std::min(shape.radius, length)};
  const at::Tensor distance = blocks.distances(pairs.own.options().dtype(at::kLong));
  const at::Tensor in_window = at::matmul(blocks.of(tokens.query), blocks.around(tokens.key).transpose(-1, -2)) +
                               look_up(blocks.of(tokens.by_label), distance_labels(distance, shape.max_distance));
  const at::Tensor to_globals =
      at::matmul(tokens.query, globals.key.transpose(-1, -2)) + by_sentence(tokens.by_label, pairs.own);
  const at::Tensor of_window = window_edges(blocks, distance, pairs, shape.radius);
  const at::Tensor of_globals = global_edges(blocks, pairs, shape.hard_long_to_global);
  const at::Tensor weights =
      probabilities(at::cat({in_window, blocks.of(to_globals)}, -1), at::cat({of_window, of_globals}, -1).unsqueeze(1),
                    pairs.dropout, pairs.seed.derived(0, kLongStream));
  const std::int64_t keys = 3 * blocks.size;
  const at::Tensor mixed = at::matmul(weights.narrow(-1, 0, keys), blocks.around(tokens.value)).flatten(2, 3);
  const at::Tensor from_globals = at::matmul(weights.narrow(-1, keys, pairs.own.size(-1)).flatten(2, 3), globals.value);
  return (mixed + from_globals).narrow(2, 0, length);
}

}  // namespace weft::attention
