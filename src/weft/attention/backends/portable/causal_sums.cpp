// SPDX-License-Identifier: Apache-2.0
// Sums of outer products along the rows, a piece of 16 chunks at a time.
#include "weft/attention/backends/portable/sums.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>

#include <algorithm>
#include <vector>

namespace weft::attention {
namespace {

constexpr std::int64_t kChunk = 64;
/// Rows whose products are made at once: bounds what is alive beside inputs and output, and the number of calls.
constexpr std::int64_t kPiece = 1024;

enum class Direction { kForward, kBackward };

/// Rows [begin, begin + rows), a whole number of chunks.
struct SumPiece {
  std::int64_t begin;
  std::int64_t rows;
  std::int64_t chunk;
};

std::vector<SumPiece> pieces_of(std::int64_t length) {
  std::vector<SumPiece> pieces;
  const std::int64_t whole = length / kChunk * kChunk;
  for (std::int64_t begin = 0; begin < whole; begin += kPiece) {
    pieces.push_back({begin, std::min(kPiece, whole - begin), kChunk});
  }
  if (whole < length) {
    pieces.push_back({whole, length - whole, length - whole});
  }
  return pieces;
}

/// Sums of the rows so far, and their level [..., 1, 1]; undefined where there are no levels.
struct Carried {
  at::Tensor sums;
  at::Tensor level;
};

/// The sums before each chunk, and behind the last in `sums`: products [..., C, r, c] -> the same shape.
at::Tensor sums_before(const at::Tensor& products, at::Tensor& sums, Direction direction) {
  const std::int64_t count = products.size(-3);
  const bool forward = direction == Direction::kForward;
  const at::Tensor first = sums.unsqueeze(-3);
  const at::Tensor running =
      forward ? at::cat({first, products}, -3).cumsum(-3) : at::cat({products, first}, -3).flip(-3).cumsum(-3).flip(-3);
  sums = running.select(-3, forward ? count : 0);
  return running.narrow(-3, forward ? 0 : 1, count);
}

/// The factor from one level to another, at most 1: levels rise along the rows, and sums go along them or against them.
at::Tensor level_factor(const at::Tensor& from, const at::Tensor& to, Direction direction) {
  return (direction == Direction::kForward ? from - to : to - from).clamp_max_(0).exp_();
}

/// sums_before() where each chunk's product is at the level `edges` [..., C, 1, 1] of that chunk; one by one, so that
/// what overflows reaches no row on the other side. `starts`: the levels of the result.
at::Tensor levelled_sums_before(const at::Tensor& products, const at::Tensor& edges, Carried& carried,
                                at::Tensor& starts, Direction direction) {
  const bool forward = direction == Direction::kForward;
  const std::int64_t count = products.size(-3);
  const at::Tensor before = at::empty_like(products);
  starts = at::empty_like(edges);
  for (std::int64_t step = 0; step < count; ++step) {
    const std::int64_t chunk = forward ? step : count - 1 - step;
    before.select(-3, chunk).copy_(carried.sums);
    starts.select(-3, chunk).copy_(carried.level);
    const at::Tensor edge = edges.select(-3, chunk);
    carried.sums = at::addcmul(products.select(-3, chunk), carried.sums, level_factor(carried.level, edge, direction));
    carried.level = edge;
  }
  return before;
}

at::Tensor piece_product(const at::Tensor& rows, const at::Tensor& keys, const at::Tensor& values,
                         const at::Tensor& levels, Carried& carried, Direction direction) {
  const bool forward = direction == Direction::kForward;
  at::Tensor scores = at::matmul(rows, keys.transpose(-2, -1));  // [..., C, chunk, chunk]
  scores = forward ? scores.tril() : scores.triu();
  if (!levels.defined()) {
    const at::Tensor before = sums_before(at::matmul(keys.transpose(-2, -1), values), carried.sums, direction);
    return at::matmul(scores, values).add_(at::matmul(rows, before));
  }
  scores.mul_(level_factor(levels.transpose(-2, -1), levels, direction));
  const at::Tensor edges = levels.narrow(-2, forward ? levels.size(-2) - 1 : 0, 1);  // [..., C, 1, 1]
  const at::Tensor products = at::matmul(keys.transpose(-2, -1), values * level_factor(levels, edges, direction));
  at::Tensor starts;
  const at::Tensor before = levelled_sums_before(products, edges, carried, starts, direction);
  return at::matmul(rows, before).mul_(level_factor(starts, levels, direction)).add_(at::matmul(scores, values));
}

/// output_i = rows_i (sums + sum_j keys_j^T values_j) over j <= i, or backwards over j >= i. `levels` [..., N + 1, 1].
at::Tensor summed_product(const at::Tensor& rows, const at::Tensor& keys, const at::Tensor& values,
                          const at::Tensor& sums, const at::Tensor& levels, Direction direction) {
  const bool forward = direction == Direction::kForward;
  Carried carried{sums, levels.defined() ? levels.narrow(-2, forward ? 0 : levels.size(-2) - 1, 1) : at::Tensor()};
  if (!sums.defined()) {
    // Zeros [..., r, c].
    carried.sums = at::matmul(keys.narrow(-2, 0, 0).transpose(-2, -1), values.narrow(-2, 0, 0));
  }
  const at::Tensor of_rows = levels.defined() ? levels.narrow(-2, 1, levels.size(-2) - 1) : at::Tensor();
  std::vector<SumPiece> pieces = pieces_of(rows.size(-2));
  if (!forward) {
    std::reverse(pieces.begin(), pieces.end());
  }
  std::vector<at::Tensor> outputs;
  for (const SumPiece& piece : pieces) {
    const auto part = [&](const at::Tensor& tensor) {
      return tensor.narrow(-2, piece.begin, piece.rows).unflatten(-2, {piece.rows / piece.chunk, piece.chunk});
    };
    const at::Tensor here = of_rows.defined() ? part(of_rows) : at::Tensor();
    outputs.push_back(piece_product(part(rows), part(keys), part(values), here, carried, direction).flatten(-3, -2));
  }
  if (!forward) {
    std::reverse(outputs.begin(), outputs.end());
  }
  return at::cat(outputs, -2);
}

/// The gradient of a tensor that was broadcast along leading dimensions.
at::Tensor summed_like(const at::Tensor& gradient, const at::Tensor& tensor) {
  return gradient.sizes() == tensor.sizes() ? gradient : gradient.sum_to_size(tensor.sizes());
}

at::Tensor gradient_of_sums(const at::Tensor& rows, const at::Tensor& gradient, const at::Tensor& sums,
                            const at::Tensor& levels) {
  at::Tensor reached = gradient;
  if (levels.defined()) {
    const at::Tensor of_rows = levels.narrow(-2, 1, levels.size(-2) - 1);
    reached = gradient * level_factor(levels.narrow(-2, 0, 1), of_rows, Direction::kForward);
  }
  return summed_like(at::matmul(rows.transpose(-2, -1), reached), sums);
}

at::Tensor column_of(const at::Tensor& levels) { return levels.defined() ? levels.unsqueeze(-1) : levels; }

}  // namespace

at::Tensor portable_causal(const CausalCall& call) {
  return summed_product(call.rows, call.keys, call.values, call.sums, column_of(call.levels), Direction::kForward);
}

CausalGradients portable_causal_gradients(const CausalCall& call, const at::Tensor& gradient) {
  const at::Tensor& sums = call.sums;
  const at::Tensor turned = sums.defined() ? sums.transpose(-2, -1) : sums;
  const at::Tensor levels = column_of(call.levels);
  // <output, gradient> is a sum over pairs j <= i of (rows_i . keys_j) (values_j . gradient_i).
  return {summed_like(summed_product(gradient, call.values, call.keys, turned, levels, Direction::kForward), call.rows),
          summed_like(summed_product(call.values, gradient, call.rows, {}, levels, Direction::kBackward), call.keys),
          summed_like(summed_product(call.keys, call.rows, gradient, {}, levels, Direction::kBackward), call.values),
          sums.defined() ? gradient_of_sums(call.rows, gradient, sums, levels) : at::Tensor()};
}

}  // namespace weft::attention
