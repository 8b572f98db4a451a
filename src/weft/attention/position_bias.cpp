// SPDX-License-Identifier: Apache-2.0
// Distances times slopes.
#include "weft/attention/position_bias.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/where.h>

#include <bit>
#include <cmath>

#include "weft/attention/attention.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {

at::Tensor alibi_slopes(std::int64_t heads) {
  require(heads > 0, "alibi_slopes: heads must be positive, found ", heads);
  at::Tensor slopes = at::empty({heads}, at::kFloat);
  auto* out = slopes.mutable_data_ptr<float>();
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  for (std::int64_t head = 0; head < heads; ++head) {
    const double exponent = head < below
                                ? 8.0 * static_cast<double>(head + 1) / static_cast<double>(below)
                                : 4.0 * static_cast<double>(2 * (head - below) + 1) / static_cast<double>(below);
    out[head] = static_cast<float>(std::exp2(-exponent));
  }
  return slopes;
}

void refuse_gradient_of(const at::Tensor& slopes) {
  if (slopes.defined() && slopes.requires_grad() && at::GradMode::is_enabled()) {
    fail(ErrorKind::kUnsupported, "attention: slopes have no gradient; pass slopes.detach()");
  }
}

at::Tensor checked_slopes(const at::Tensor& slopes, const at::Tensor& query) {
  if (!slopes.defined()) {
    return {};
  }
  const std::int64_t heads = query.size(1);
  const bool fits = slopes.dim() == 1 || (slopes.dim() == 2 && slopes.size(0) >= 1 && slopes.size(0) <= 3);
  require(fits && slopes.size(-1) == heads && at::isFloatingType(slopes.scalar_type()),
          "attention: slopes must be floating [heads], [2, heads] or [3, heads] for ", heads, " heads, found ",
          slopes.scalar_type(), " ", slopes.sizes());
  require(all_finite({slopes}), "attention: slopes must be finite");
  return slopes.detach().to(query.device(), at::kFloat).view({-1, heads}).contiguous();
}

at::Tensor position_bias(const at::Tensor& slopes, const at::Tensor& queries, const at::Tensor& keys,
                         at::ScalarType type) {
  const at::Tensor query = queries.unsqueeze(-1);  // [R, q, 1]
  const at::Tensor key = keys.unsqueeze(1);        // [R, 1, k]
  const at::Tensor distance = (query - key).unsqueeze(1).to(type);
  const auto of_heads = [&](std::int64_t row) { return slopes[row].to(type).view({1, -1, 1, 1}); };
  const at::Tensor left = distance.clamp_min(0) * of_heads(0);
  at::Tensor bias = (distance.clamp_max(0) * of_heads(slopes.size(0) > 1 ? 1 : 0)).sub_(left);
  if (slopes.size(0) == 3) {
    const at::Tensor first = ((query == 0).logical_xor(key == 0)).unsqueeze(1);
    bias = at::where(first, -distance.abs() * of_heads(2), bias);
  }
  return bias;
}

}  // namespace weft::attention
