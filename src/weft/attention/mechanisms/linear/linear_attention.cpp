// SPDX-License-Identifier: Apache-2.0
// The feature maps of linear attention, a row each.
#include "weft/attention/mechanisms/linear/linear_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/elu.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/attention/mechanisms/settings.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

constexpr double kEpsilon = 1e-6;
constexpr double kChunkRows = 64;  // that meet in a masked product, see causal_product()

at::Tensor elu_features(const at::Tensor& x) { return at::elu(x) + 1.0; }

at::Tensor relu_features(const at::Tensor& x) { return x.relu(); }

at::Tensor square_features(const at::Tensor& x) { return x.relu().square(); }

at::Tensor dpfp_features(const at::Tensor& x) {
  const at::Tensor sides = at::cat({x.relu(), (-x).relu()}, -1);
  return sides * sides.roll({1}, {-1});
}

struct FeatureMap {
  std::string_view name;
  at::Tensor (*map)(const at::Tensor& x);
  std::int64_t features;  // a column
};

constexpr std::array kMaps{FeatureMap{"elu", elu_features, 1}, FeatureMap{"relu", relu_features, 1},
                           FeatureMap{"square", square_features, 1}, FeatureMap{"dpfp", dpfp_features, 2}};

const FeatureMap& map_of(const std::string& expression) {
  MechanismSettings given(expression, "linear");
  std::vector<std::string_view> names;
  for (const FeatureMap& map : kMaps) {
    names.push_back(map.name);
  }
  const std::string name = given.word("map", names);
  given.check_all_taken({"map"});
  return *std::find_if(kMaps.begin(), kMaps.end(), [&](const FeatureMap& map) { return map.name == name; });
}

// Two products [N, r] x [r, D + 1]; a decoder's chunks meet themselves, too.
double linear_operations(std::int64_t features, const MechanismSite& site, std::int64_t length) {
  const auto width = static_cast<double>(site.head_dim);
  const double rank = width * static_cast<double>(features);
  const double inside = site.causal ? 2 * kChunkRows * (rank + width) : 0;
  return static_cast<double>(length) * (4 * rank * width + inside);
}

}  // namespace

MechanismSpec parse_linear(const std::string& expression) {
  const FeatureMap& map = map_of(expression);
  MechanismSpec spec;
  spec.name = "linear";
  spec.description = &map == kMaps.data() ? "linear" : concat("linear(map=", map.name, ")");
  spec.has_probabilities = false;
  spec.ignores_query_positions = true;
  spec.limits.distances = "it computes no scores that the distance could lower";
  spec.operations = [features = map.features](const MechanismSite& site, std::int64_t length) {
    return linear_operations(features, site, length);
  };
  return spec;
}

LinearAttention::LinearAttention(MechanismSpec spec, const MechanismSite& site)
    : FeatureAttention(std::move(spec), site), map_(map_of(this->spec().description).map) {}

at::Tensor LinearAttention::query_features(const at::Tensor& x) const { return map_(x); }

KeyFeatures LinearAttention::key_features(const at::Tensor& x) const { return {map_(x)}; }

at::Tensor LinearAttention::denominators(const at::Tensor& sums) const { return sums + kEpsilon; }

}  // namespace weft::attention
