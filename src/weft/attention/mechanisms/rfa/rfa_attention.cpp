// SPDX-License-Identifier: Apache-2.0
// Settings, features and gates; the sums are those of FeatureAttention.
#include "weft/attention/mechanisms/rfa/rfa_attention.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <optional>
#include <utility>

#include "weft/attention/mechanisms/settings.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

constexpr std::int64_t kMostRfaFeatures = 65536;
constexpr std::int64_t kDefaultRfaFeatures = 128;
constexpr std::int64_t kMostRfaSteps = 1 << 30;
constexpr std::int64_t kLargestRfaSeed = (std::int64_t{1} << 62) - 1;
// As released: the size of a feature, what keeps a length from 0, and the least denominators.
constexpr double kFeatureSize = 0.1;
constexpr double kLengthEpsilon = 1e-3;
constexpr double kLeastSummed = 1.0;
constexpr double kLeastMasked = 1e-3;
constexpr double kFirstGateLevel = 3.0;
constexpr double kRfaChunkRows = 64;  // that meet in a masked product, see causal_product()

struct RfaSettings {
  std::int64_t features;
  bool gate;
  bool one;
  bool learned;
  std::int64_t redraw;  // steps, 0: never
  std::int64_t seed;    // -1: of the default generator
};

RfaSettings rfa_settings(const std::string& expression) {
  MechanismSettings given(expression, "rfa");
  const RfaSettings settings{given.number("features", kDefaultRfaFeatures, 2, kMostRfaFeatures),
                             given.word("gate", {"no", "yes"}) == "yes",
                             given.word("denominator", {"one", "small"}) == "one",
                             given.word("scales", {"learned", "fixed"}) == "learned",
                             given.number("redraw", 0, 0, kMostRfaSteps),
                             given.number("seed", -1, 0, kLargestRfaSeed)};
  given.check_all_taken({"features", "gate", "denominator", "scales", "redraw", "seed"});
  if (settings.features % 2 != 0) {
    fail(ErrorKind::kExpression,
         "attention: features of `rfa` are pairs of a sine and a cosine, so that their number must be even, found ",
         settings.features);
  }
  return settings;
}

std::string rfa_text(const RfaSettings& settings) {
  return concat("rfa(features=", settings.features, settings.gate ? ", gate=yes" : "",
                settings.one ? "" : ", denominator=small", settings.learned ? "" : ", scales=fixed",
                settings.redraw > 0 ? concat(", redraw=", settings.redraw) : std::string(),
                settings.seed >= 0 ? concat(", seed=", settings.seed) : std::string(), ")");
}

}  // namespace

// The weights (1 - g) of a gated sum add up to at most 1, and a product of features to kFeatureSize^2 features / 2.
std::string rfa_caution(const std::string& expression) {
  const RfaSettings settings = rfa_settings(expression);
  if (!settings.gate || !settings.one) {
    return {};
  }
  const double largest = kFeatureSize * kFeatureSize * static_cast<double>(settings.features) / 2;
  return concat("with gates the weights of a row of `rfa(features=", settings.features, ")` sum to at most ", largest,
                largest > kLeastSummed ? ", and mostly to much less" : "",
                ", so that denominator=one, which divides by 1 or more, ", largest > kLeastSummed ? "rarely" : "never",
                " normalises them; denominator=small does");
}

MechanismSpec parse_rfa(const std::string& expression) {
  const RfaSettings settings = rfa_settings(expression);
  MechanismSpec spec;
  spec.name = "rfa";
  spec.description = rfa_text(settings);
  spec.has_probabilities = false;
  spec.ignores_query_positions = true;
  spec.parameters = {"projection"};
  if (settings.learned) {
    spec.parameters.emplace_back("scales");
  }
  if (settings.gate) {
    spec.parameters.insert(spec.parameters.end(), {"gate", "gate_level"});
    spec.limits.cross = "its gates forget in the order of one text";
  }
  spec.limits.distances = "it computes no scores that the distance could lower";
  // The features of queries and keys, and two products [N, r] x [r, D + 1]; a decoder's chunks meet themselves, too.
  spec.operations = [settings](const MechanismSite& site, std::int64_t length) {
    const auto width = static_cast<double>(site.head_dim);
    const auto features = static_cast<double>(settings.features);
    const double inside = site.causal ? 2 * kRfaChunkRows * (features + width) : 0;
    return static_cast<double>(length) * (6 * features * width + inside);
  };
  return spec;
}

RfaAttention::RfaAttention(MechanismSpec spec, const MechanismSite& site, const at::TensorOptions& options)
    : FeatureAttention(std::move(spec), site) {
  const RfaSettings settings = rfa_settings(this->spec().description);
  require(site.causal || !settings.gate, "attention: `", description(),
          "` forgets what lies behind, and so it is for decoders alone; leave gate=yes out where both sides are seen");
  least_denominator_ = settings.one ? kLeastSummed : kLeastMasked;
  counts_by_size_ = !settings.one || !site.causal;
  redraw_every_ = settings.redraw;
  const at::NoGradGuard without_gradients;
  const std::int64_t rows = settings.features / 2;
  projection_ = register_parameter("projection", at::empty({site.heads, rows, site.head_dim}, options), false);
  if (settings.learned) {
    scales_ = register_parameter("scales", at::ones({site.heads, site.head_dim}, options));
  }
  if (settings.gate) {
    gate_ = register_parameter("gate", at::zeros({site.heads, site.head_dim}, options));
    gate_level_ = register_parameter("gate_level", at::ones({site.heads}, options) * kFirstGateLevel);
  }
  if (projection_.is_meta()) {
    return;
  }
  std::optional<at::Generator> generator;
  if (settings.seed >= 0) {
    generator = at::detail::createCPUGenerator(static_cast<std::uint64_t>(settings.seed + site.layer));
  }
  projection_.copy_(at::randn({site.heads, rows, site.head_dim}, generator, at::kDouble));
}

void RfaAttention::redraw(std::uint64_t seed) {
  const at::NoGradGuard without_gradients;
  projection_.copy_(at::randn(projection_.sizes(), at::detail::createCPUGenerator(seed), at::kDouble));
}

at::Tensor RfaAttention::of_all_heads(const at::Tensor& tensor) const {
  require(tensor.dim() == 4 && tensor.size(1) > 0 && site().heads % tensor.size(1) == 0, "attention: `", description(),
          "` was made for ", site().heads, " heads, found keys or values ", tensor.sizes());
  return repeat_key_heads(tensor, site().heads);
}

at::Tensor RfaAttention::forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                 const AttentionContext& context) {
  return FeatureAttention::forward(query, of_all_heads(key), of_all_heads(value), context);
}

at::Tensor RfaAttention::step(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                              const AttentionContext& context, AttentionState& state) {
  return FeatureAttention::step(query, of_all_heads(key), of_all_heads(value), context, state);
}

at::Tensor RfaAttention::features(const at::Tensor& x) const {
  require(x.size(1) == site().heads && x.size(-1) == projection_.size(2), "attention: `", description(),
          "` was made for ", site().heads, " heads of ", projection_.size(2), " columns, found queries or keys ",
          x.sizes());
  at::Tensor rows = projection_.to(x.scalar_type());
  if (scales_.defined()) {
    rows = rows * scales_.to(x.scalar_type()).unsqueeze(1);
  }
  const at::Tensor direction = x / (x.norm(2, -1, true) + kLengthEpsilon);
  const at::Tensor angles = at::matmul(direction, rows.transpose(-2, -1));  // [B, H, N, features / 2]
  return at::cat({angles.sin(), angles.cos()}, -1) * kFeatureSize;
}

at::Tensor RfaAttention::query_features(const at::Tensor& x) const { return features(x); }

KeyFeatures RfaAttention::key_features(const at::Tensor& x) const { return {features(x)}; }

// As released: a sum over a masked matrix or over another text counts by its size, a running sum as it is.
at::Tensor RfaAttention::denominators(const at::Tensor& sums) const {
  return (counts_by_size_ ? sums.abs() : sums).clamp_min(least_denominator_);
}

at::Tensor RfaAttention::log_gates(const at::Tensor& key) const {
  if (!gate_.defined()) {
    return {};
  }
  const at::Tensor weights = gate_.to(key.scalar_type()).unsqueeze(1);  // [H, 1, D]
  return at::log_sigmoid((key * weights).sum(-1) + gate_level_.to(key.scalar_type()).unsqueeze(-1));
}

}  // namespace weft::attention
