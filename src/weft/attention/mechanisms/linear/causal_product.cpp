// SPDX-License-Identifier: Apache-2.0
// Sums of outer products along the rows, a piece of 16 chunks at a time.
#include "weft/attention/mechanisms/linear/causal_product.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <vector>

namespace weft::attention {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kChunk = 64;
/// Rows whose products are made at once: bounds what is alive beside inputs and output, and the number of calls.
constexpr std::int64_t kPiece = 1024;

enum class Direction { kForward, kBackward };

/// Rows [begin, begin + rows), a whole number of chunks.
struct Piece {
  std::int64_t begin;
  std::int64_t rows;
  std::int64_t chunk;
};

std::vector<Piece> pieces_of(std::int64_t length) {
  std::vector<Piece> pieces;
  const std::int64_t whole = length / kChunk * kChunk;
  for (std::int64_t begin = 0; begin < whole; begin += kPiece) {
    pieces.push_back({begin, std::min(kPiece, whole - begin), kChunk});
  }
  if (whole < length) {
    pieces.push_back({whole, length - whole, length - whole});
  }
  return pieces;
}

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

at::Tensor piece_product(const at::Tensor& rows, const at::Tensor& keys, const at::Tensor& values, at::Tensor& sums,
                         Direction direction) {
  at::Tensor scores = at::matmul(rows, keys.transpose(-2, -1));  // [..., C, chunk, chunk]
  scores = direction == Direction::kForward ? scores.tril() : scores.triu();
  const at::Tensor before = sums_before(at::matmul(keys.transpose(-2, -1), values), sums, direction);
  return at::matmul(scores, values).add_(at::matmul(rows, before));
}

/// output_i = rows_i (sums + sum_j keys_j^T values_j) over j <= i, or backwards over j >= i.
at::Tensor product(const at::Tensor& rows, const at::Tensor& keys, const at::Tensor& values, at::Tensor sums,
                   Direction direction) {
  if (!sums.defined()) {
    sums = at::matmul(keys.narrow(-2, 0, 0).transpose(-2, -1), values.narrow(-2, 0, 0));  // zeros [..., r, c]
  }
  std::vector<Piece> pieces = pieces_of(rows.size(-2));
  if (direction == Direction::kBackward) {
    std::reverse(pieces.begin(), pieces.end());
  }
  std::vector<at::Tensor> outputs;
  for (const Piece& piece : pieces) {
    const auto part = [&](const at::Tensor& tensor) {
      return tensor.narrow(-2, piece.begin, piece.rows).unflatten(-2, {piece.rows / piece.chunk, piece.chunk});
    };
    outputs.push_back(piece_product(part(rows), part(keys), part(values), sums, direction).flatten(-3, -2));
  }
  if (direction == Direction::kBackward) {
    std::reverse(outputs.begin(), outputs.end());
  }
  return at::cat(outputs, -2);
}

/// The gradient of a tensor that was broadcast along leading dimensions.
at::Tensor summed_like(const at::Tensor& gradient, const at::Tensor& tensor) {
  return gradient.sizes() == tensor.sizes() ? gradient : gradient.sum_to_size(tensor.sizes());
}

struct CausalProduct : torch::autograd::Function<CausalProduct> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& rows, const at::Tensor& keys,
                            const at::Tensor& values, const std::optional<at::Tensor>& sums) {
    context->save_for_backward({rows, keys, values, sums.value_or(at::Tensor())});
    return product(rows, keys, values, sums.value_or(at::Tensor()), Direction::kForward);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& rows = saved[0];
    const at::Tensor& keys = saved[1];
    const at::Tensor& values = saved[2];
    const at::Tensor& sums = saved[3];
    const at::Tensor& gradient = gradients[0];
    const at::Tensor turned = sums.defined() ? sums.transpose(-2, -1) : sums;
    // <output, gradient> is a sum over pairs j <= i of (rows_i . keys_j) (values_j . gradient_i).
    return {summed_like(product(gradient, values, keys, turned, Direction::kForward), rows),
            summed_like(product(values, gradient, rows, {}, Direction::kBackward), keys),
            summed_like(product(keys, rows, gradient, {}, Direction::kBackward), values),
            sums.defined() ? summed_like(at::matmul(rows.transpose(-2, -1), gradient), sums) : at::Tensor()};
  }
};

}  // namespace

at::Tensor causal_product(const at::Tensor& rows, const at::Tensor& keys, const at::Tensor& values,
                          const at::Tensor& sums) {
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  return CausalProduct::apply(rows, keys, values, sums.defined() ? std::optional(sums) : std::nullopt);
}

}  // namespace weft::attention
