// SPDX-License-Identifier: Apache-2.0
// The features of linear attention.
#include "weft/attention/mechanisms/linear/linear_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/elu.h>

#include "weft/attention/mechanisms/settings.h"

namespace weft::attention {
namespace {

constexpr double kEpsilon = 1e-6;
constexpr double kChunkRows = 64;  // that meet in a masked product, see causal_product()

// Two products [N, D] x [D, D + 1]; a decoder's chunks meet themselves, too.
double linear_operations(const MechanismSite& site, std::int64_t length) {
  const auto width = static_cast<double>(site.head_dim);
  const double inside = site.causal ? 4 * kChunkRows * width : 0;
  return static_cast<double>(length) * (4 * width * width + inside);
}

}  // namespace

MechanismSpec parse_linear(const std::string& expression) {
  MechanismSettings(expression, "linear").check_all_taken({});
  MechanismSpec spec;
  spec.name = "linear";
  spec.description = "linear";
  spec.ignores_query_positions = true;
  spec.limits.alibi = "it computes no scores that the distance could lower";
  spec.operations = linear_operations;
  return spec;
}

at::Tensor LinearAttention::query_features(const at::Tensor& x) const { return at::elu(x) + 1.0; }

at::Tensor LinearAttention::key_features(const at::Tensor& x) const { return at::elu(x) + 1.0; }

at::Tensor LinearAttention::denominators(const at::Tensor& sums) const { return sums + kEpsilon; }

}  // namespace weft::attention
