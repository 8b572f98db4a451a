// SPDX-License-Identifier: Apache-2.0
// Features of a row are divided by their largest; what that was is the row's level, which the sums carry.
#include "weft/attention/mechanisms/performer/performer_attention.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "weft/attention/mechanisms/settings.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

constexpr std::int64_t kMostFeatures = 65536;
constexpr std::int64_t kDefaultFeatures = 256;
constexpr std::int64_t kMostPerformerSteps = 1 << 30;
constexpr std::int64_t kLargestPerformerSeed = (std::int64_t{1} << 62) - 1;
constexpr double kRowsAtOnce = 64;  // that meet in a masked product, see causal_product()
constexpr double kLeastDenominator = 1e-30;
constexpr double kLargestLevel = 1e30;  // beyond any key of a trained model: no difference of two is NaN

struct PerformerSettings {
  std::int64_t features;
  bool positive;
  bool orthogonal;
  std::int64_t redraw;  // steps, 0: never
  std::int64_t seed;    // -1: of the default generator
};

PerformerSettings performer_settings(const std::string& expression) {
  MechanismSettings given(expression, "performer");
  const PerformerSettings settings{
      given.number("features", kDefaultFeatures, 1, kMostFeatures),
      given.word("map", {"positive", "trigonometric"}) == "positive", given.word("orthogonal", {"yes", "no"}) == "yes",
      given.number("redraw", 0, 0, kMostPerformerSteps), given.number("seed", -1, 0, kLargestPerformerSeed)};
  given.check_all_taken({"features", "map", "orthogonal", "redraw", "seed"});
  if (!settings.positive && settings.features % 2 != 0) {
    fail(ErrorKind::kExpression,
         "attention: features of `performer(map=trigonometric)` are pairs of a sine and a "
         "cosine, so that their number must be even, found ",
         settings.features);
  }
  return settings;
}

std::string performer_text(const PerformerSettings& settings) {
  return concat("performer(features=", settings.features, settings.positive ? "" : ", map=trigonometric",
                settings.orthogonal ? "" : ", orthogonal=no",
                settings.redraw > 0 ? concat(", redraw=", settings.redraw) : std::string(),
                settings.seed >= 0 ? concat(", seed=", settings.seed) : std::string(), ")");
}

std::int64_t random_rows(const PerformerSettings& settings) {
  return settings.positive ? settings.features : settings.features / 2;
}

// The features of queries and keys, and two products [N, r] x [r, D + 1]; a decoder's chunks meet themselves, too.
MechanismSpec performer_spec(const PerformerSettings& settings) {
  MechanismSpec spec;
  spec.operations = [settings](const MechanismSite& site, std::int64_t length) {
    const auto width = static_cast<double>(site.head_dim);
    const auto features = static_cast<double>(settings.features);
    const double inside = site.causal ? 2 * kRowsAtOnce * (features + width) : 0;
    return static_cast<double>(length) *
           (4 * width * static_cast<double>(random_rows(settings)) + 4 * features * width + inside);
  };
  return spec;
}

/// Rows ~ normal(0, I) [rows, width]: independent ones, or blocks of `width` orthogonal ones with the norms of others.
at::Tensor drawn_rows(std::int64_t rows, std::int64_t width, bool orthogonal, std::optional<at::Generator> generator) {
  at::Tensor independent = at::randn({rows, width}, generator, at::kDouble);
  if (!orthogonal) {
    return independent;
  }
  std::vector<at::Tensor> blocks;
  for (std::int64_t first = 0; first < rows; first += width) {
    const auto [directions, upper] = at::linalg_qr(at::randn({width, width}, generator, at::kDouble));
    // The signs make the directions uniform, whatever the decomposition prefers.
    const at::Tensor turned = directions * upper.diagonal().sign();
    blocks.push_back(turned.t().narrow(0, 0, std::min(width, rows - first)));
  }
  return at::cat(blocks) * independent.norm(2, -1, true);
}

at::Tensor scaled(const at::Tensor& x) { return x * std::pow(static_cast<double>(x.size(-1)), -0.25); }

at::Tensor half_square(const at::Tensor& x) { return x.square().sum(-1, true) * 0.5; }

at::Tensor sine_and_cosine(const at::Tensor& angles) { return at::cat({angles.sin(), angles.cos()}, -1); }

}  // namespace

MechanismSpec parse_performer(const std::string& expression) {
  const PerformerSettings settings = performer_settings(expression);
  MechanismSpec spec = performer_spec(settings);
  spec.name = "performer";
  spec.description = performer_text(settings);
  spec.has_probabilities = false;
  spec.ignores_query_positions = true;
  spec.parameters = {"projection"};
  spec.limits.distances = "it computes no scores that the distance could lower";
  return spec;
}

PerformerAttention::PerformerAttention(MechanismSpec spec, const MechanismSite& site, const at::TensorOptions& options)
    : FeatureAttention(std::move(spec), site) {
  const PerformerSettings settings = performer_settings(this->spec().description);
  positive_ = settings.positive;
  orthogonal_ = settings.orthogonal;
  redraw_every_ = settings.redraw;
  const at::NoGradGuard without_gradients;
  projection_ = register_parameter("projection", at::empty({random_rows(settings), site.head_dim}, options), false);
  if (projection_.is_meta()) {
    return;
  }
  std::optional<at::Generator> generator;
  if (settings.seed >= 0) {
    generator = at::detail::createCPUGenerator(static_cast<std::uint64_t>(settings.seed + site.layer));
  }
  projection_.copy_(drawn_rows(random_rows(settings), site.head_dim, settings.orthogonal, generator));
}

void PerformerAttention::redraw(std::uint64_t seed) {
  const at::NoGradGuard without_gradients;
  projection_.copy_(
      drawn_rows(projection_.size(0), projection_.size(1), orthogonal_, at::detail::createCPUGenerator(seed)));
}

at::Tensor PerformerAttention::projected(const at::Tensor& scaled) const {
  require(scaled.size(-1) == projection_.size(1), "attention: `", description(), "` was made for heads of ",
          projection_.size(1), " columns, found queries or keys ", scaled.sizes());
  return at::matmul(scaled, projection_.to(scaled.scalar_type()).t());
}

KeyFeatures PerformerAttention::key_features(const at::Tensor& x) const {
  const at::Tensor key = scaled(x);
  if (positive_) {
    const at::Tensor exponents = projected(key) - half_square(key);
    const at::Tensor largest = exponents.detach().amax(-1, true).clamp_min(-kLargestLevel);
    return {(exponents - largest).exp(), largest.squeeze(-1)};
  }
  const at::Tensor squares = half_square(key).clamp_max(kLargestLevel);
  return {sine_and_cosine(projected(key)) * (squares - squares.detach()).exp(), squares.detach().squeeze(-1)};
}

at::Tensor PerformerAttention::query_features(const at::Tensor& x) const {
  const at::Tensor angles = projected(scaled(x));
  if (!positive_) {
    return sine_and_cosine(angles);  // exp(|q'|^2 / 2) is a factor of the row
  }
  return (angles - angles.detach().amax(-1, true)).exp();  // so is its largest, as |q'|^2 is
}

at::Tensor PerformerAttention::denominators(const at::Tensor& sums) const {
  return at::where(sums.abs() < kLeastDenominator, at::full_like(sums, kLeastDenominator), sums);
}

}  // namespace weft::attention
