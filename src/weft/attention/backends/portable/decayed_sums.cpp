// SPDX-License-Identifier: Apache-2.0
// All chunks meet themselves at once; the sums go from chunk to chunk one by one.
#include "weft/attention/backends/portable/sums.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "weft/attention/tensors.h"

namespace weft::attention {
namespace {

constexpr std::int64_t kDecayedChunk = 64;

/// products [..., C, r, c] and what each chunk leaves of the sums before it [..., C, 1, 1] -> the sums before each
/// chunk [..., C, r, c].
at::Tensor carried_sums(const at::Tensor& products, const at::Tensor& kept, at::Tensor sums) {
  // Not one select() a chunk, whose gradient is as large as all chunks together: time would grow with their square.
  const std::vector<at::Tensor> chunks = products.unbind(-3);
  const std::vector<at::Tensor> parts = kept.unbind(-3);
  std::vector<at::Tensor> before;
  for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    before.push_back(sums.defined() ? sums : at::zeros_like(chunks.front()));
    sums = before.back() * parts[chunk] + chunks[chunk];
  }
  return at::stack(before, -3);
}

}  // namespace

at::Tensor portable_decayed(const DecayedCall& call) {
  const auto& [rows, keys, values, log_gates, sums] = call;
  const std::int64_t length = rows.size(-2);
  const std::int64_t chunk = std::min(kDecayedChunk, length);
  const std::int64_t missing = (chunk - length % chunk) % chunk;
  const auto chunked = [&](const at::Tensor& tensor) {
    return at::constant_pad_nd(tensor, {0, 0, 0, missing}).unflatten(-2, {(length + missing) / chunk, chunk});
  };
  const at::Tensor row = chunked(rows);  // [..., C, chunk, r]
  const at::Tensor key = chunked(keys);
  const at::Tensor value = chunked(values);
  const at::ScalarType type = rows.scalar_type();
  // In float64: differences of sums of gates near 0 would be left with few digits.
  const at::Tensor level = chunked(log_gates.unsqueeze(-1)).cumsum(-2, at::kDouble);  // [..., C, chunk, 1]
  const at::Tensor last = level.narrow(-2, chunk - 1, 1);                             // [..., C, 1, 1]
  const auto part = [&](const at::Tensor& logarithm) { return logarithm.to(type).exp(); };

  const at::Tensor later = at::ones({chunk, chunk}, rows.options().dtype(at::kBool).requires_grad(false)).triu(1);
  const at::Tensor left = part((level - level.transpose(-2, -1)).masked_fill(later, -kInfinity));
  const at::Tensor inside = at::matmul(at::matmul(row, key.transpose(-2, -1)) * left, value);
  const at::Tensor products = at::matmul((key * part(last - level)).transpose(-2, -1), value);
  const at::Tensor before = carried_sums(products, part(last), sums);
  return (inside + at::matmul(row * part(level), before)).flatten(-3, -2).narrow(-2, 0, length);
}

}  // namespace weft::attention
