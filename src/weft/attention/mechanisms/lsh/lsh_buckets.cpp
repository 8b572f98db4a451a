// SPDX-License-Identifier: Apache-2.0
// Rows are hashed a piece at a time: the rotated rows of all rounds are far larger than the rows.
#include "weft/attention/mechanisms/lsh/lsh_buckets.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace weft::attention {
namespace {

constexpr std::int64_t kMostProducts = std::int64_t{1} << 21;  // of a piece of rows: 8 MB in float32

/// Rotated rows [..., sum(factors) / 2] -> their buckets [...].
at::Tensor bucket_numbers(const at::Tensor& rotated, const std::vector<std::int64_t>& factors) {
  at::Tensor numbers;
  std::int64_t first = 0;
  std::int64_t unit = 1;
  for (const std::int64_t factor : factors) {
    const at::Tensor part = rotated.narrow(-1, first, factor / 2);
    const at::Tensor digit = at::argmax(at::cat({part, -part}, -1), -1);
    numbers = numbers.defined() ? numbers + digit * unit : digit;
    first += factor / 2;
    unit *= factor;
  }
  return numbers;
}

}  // namespace

std::int64_t bucket_count(const std::vector<std::int64_t>& factors) {
  return std::accumulate(factors.begin(), factors.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<std::int64_t> default_factors(std::int64_t longest, std::int64_t chunk) {
  const std::int64_t chunks = longest / chunk;
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(2 * chunks)));
  const int power = std::max(bits - 1, 1);
  const auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(chunks)));
  const std::int64_t buckets = std::int64_t{1} << power;
  if (buckets <= 2 * std::max(root, chunk)) {
    return {buckets};
  }
  return {std::int64_t{1} << (power / 2), std::int64_t{1} << (power - power / 2)};
}

at::Tensor rotations_of(const HashSettings& settings, std::int64_t heads, std::int64_t head_dim,
                        const at::TensorOptions& options) {
  const std::int64_t columns = std::accumulate(settings.factors.begin(), settings.factors.end(), std::int64_t{0}) / 2;
  const at::Generator generator = at::detail::createCPUGenerator(settings.seed);
  return at::randn({heads, head_dim, settings.rounds, columns}, generator,
                   options.device(at::kCPU).requires_grad(false))
      .to(options.device());
}

at::Tensor buckets_of(const at::Tensor& rows, const at::Tensor& rotations, const std::vector<std::int64_t>& factors) {
  const at::NoGradGuard without_gradients;
  const std::int64_t length = rows.size(2);
  const std::int64_t rounds = rotations.size(2);
  at::Tensor buckets = at::empty({rows.size(0), rows.size(1), rounds, length}, rows.options().dtype(at::kLong));
  const at::Tensor wide = rotations.flatten(2, 3);  // [H, D, rounds * columns]
  const std::int64_t each = std::max<std::int64_t>(rows.size(0) * rows.size(1) * wide.size(2), 1);
  const std::int64_t step = std::max<std::int64_t>(kMostProducts / each, 1);
  for (std::int64_t first = 0; first < length; first += step) {
    const std::int64_t count = std::min(step, length - first);
    const at::Tensor rotated = at::matmul(rows.narrow(2, first, count).to(rotations.scalar_type()), wide);
    const at::Tensor numbers = bucket_numbers(rotated.unflatten(-1, {rounds, rotations.size(3)}), factors);
    buckets.narrow(3, first, count).copy_(numbers.transpose(2, 3));
  }
  return buckets;
}

}  // namespace weft::attention
