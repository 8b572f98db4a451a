// SPDX-License-Identifier: Apache-2.0
// Settings, and the table of distances that a call needs.
#include "weft/attention/mechanisms/relative/relative_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <utility>

#include "weft/attention/mechanisms/relative/relative_layout.h"
#include "weft/attention/mechanisms/relative/relative_product.h"
#include "weft/attention/mechanisms/relative/wave_dropout.h"
#include "weft/attention/mechanisms/row_lengths.h"
#include "weft/attention/mechanisms/settings.h"
#include "weft/attention/operator/checks.h"
#include "weft/attention/profile/attention_observer.h"
#include "weft/attention/sinusoids.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft::attention {
namespace {

constexpr std::int64_t kLongest = std::int64_t{1} << 31;
constexpr double kInitialRange = 0.02;  // as released

struct Settings {
  std::int64_t left;
  std::int64_t reach;
  std::int64_t clamp;
  bool shares;
};

Settings settings_of(const std::string& expression) {
  MechanismSettings given(expression, "relative");
  const Settings settings{given.number("left", -1, 0, kLongest), given.number("reach", -1, 0, kLongest),
                          given.number("clamp", -1, 0, kLongest),
                          given.word("biases", {"layer", "shared"}) == "shared"};
  given.check_all_taken({"left", "reach", "clamp", "biases"});
  if (settings.left >= 0 && settings.reach >= 0) {
    fail(ErrorKind::kExpression,
         "attention: `relative` has either left, of keys before the query, or reach, of keys on both sides");
  }
  return settings;
}

std::string description_of(const Settings& settings) {
  std::string inside;
  const auto add = [&](const auto&... parts) { inside += concat(inside.empty() ? "" : ", ", parts...); };
  if (settings.left >= 0) {
    add("left=", settings.left);
  }
  if (settings.reach >= 0) {
    add("reach=", settings.reach);
  }
  if (settings.clamp >= 0) {
    add("clamp=", settings.clamp);
  }
  if (settings.shares) {
    add("biases=shared");
  }
  return inside.empty() ? "relative" : concat("relative(", inside, ")");
}

// Keys that a query sees on the average, three products each (content, distance, values), and the row of R of each
// distance.
double relative_operations(const Settings& settings, const MechanismSite& site, std::int64_t length) {
  const auto width = static_cast<double>(site.head_dim);
  const auto tokens = static_cast<double>(length);
  double keys = site.causal ? tokens / 2 : tokens;
  if (settings.reach >= 0) {
    keys = std::min(keys, 2 * static_cast<double>(settings.reach) + 1);
  }
  if (settings.left >= 0 && site.causal) {
    keys = std::min(keys, static_cast<double>(settings.left) + 1);
  }
  return tokens * keys * 6 * width + 2 * tokens * width * width * static_cast<double>(site.heads);
}

}  // namespace

/// The table of the last calls without gradients, and which weights it is of.
struct RelativeAttention::Kept {
  at::Tensor table;  // [H, count, D]
  std::int64_t nearest = 0;
  const void* weights = nullptr;
  std::int64_t version = -1;
};

MechanismSpec parse_relative(const std::string& expression) {
  MechanismSpec spec;
  spec.name = "relative";
  const Settings settings = settings_of(expression);
  spec.description = description_of(settings);
  spec.brings_positions = true;
  spec.not_observed = "";
  spec.keeps_memory = true;
  spec.parameters = {"distances", "content_bias", "distance_bias"};
  spec.limits.cross = "positions of two texts have no distance";
  spec.limits.distances = "its own scores know the distance";
  if (settings.reach >= 0) {
    spec.limits.causal = "reach is of keys on both sides; left is of keys before the query";
  }
  spec.operations = [settings](const MechanismSite& site, std::int64_t length) {
    return relative_operations(settings, site, length);
  };
  return spec;
}

RelativeAttention::RelativeAttention(MechanismSpec spec, const MechanismSite& site, const at::TensorOptions& options)
    : AttentionImpl(std::move(spec), site), kept_(std::make_shared<Kept>()) {
  const Settings settings = settings_of(this->spec().description);
  left_ = settings.left;
  reach_ = settings.reach;
  clamp_ = settings.clamp;
  shares_ = settings.shares;
  const at::NoGradGuard without_gradients;
  const std::int64_t width = site.heads * site.head_dim;
  const auto learned = [&](const char* name, at::IntArrayRef sizes) {
    at::Tensor parameter = register_parameter(name, at::empty(sizes, options));
    return parameter.normal_(0.0, kInitialRange);
  };
  distances_ = learned("distances", {width, width});
  if (!shares_ || site.layer == 0) {
    content_bias_ = learned("content_bias", {site.heads, site.head_dim});
    distance_bias_ = learned("distance_bias", {site.heads, site.head_dim});
  }
}

void RelativeAttention::share(AttentionImpl& first) {
  if (!shares_ || site().layer == 0) {
    return;
  }
  auto* const owner = first.as<RelativeAttention>();
  require(owner != nullptr && owner->shares_, "attention of layer ", site().layer, ": `", description(),
          "` takes u and v from layer 0, which must be `relative(biases=shared)` too, found `", first.description(),
          "`");
  content_bias_ = owner->content_bias_;
  distance_bias_ = owner->distance_bias_;
}

std::vector<at::Tensor> RelativeAttention::shared_parameters() const {
  return shares_ && site().layer > 0 ? std::vector<at::Tensor>{content_bias_, distance_bias_}
                                     : std::vector<at::Tensor>();
}

at::Tensor RelativeAttention::waves(std::int64_t nearest, std::int64_t count) const {
  return sinusoidal_positions(nearest, count, distances_.size(1), distances_.options().requires_grad(false), true);
}

at::Tensor RelativeAttention::projected(const at::Tensor& rows) const {
  return at::matmul(rows, distances_.t()).view({rows.size(0), site().heads, -1}).transpose(0, 1);
}

at::Tensor RelativeAttention::table(std::int64_t nearest, std::int64_t count) {
  const auto compute = [&](std::int64_t first, std::int64_t rows) { return projected(waves(first, rows)); };
  if (at::GradMode::is_enabled() || distances_.is_inference()) {
    return compute(nearest, count);
  }
  Kept& kept = *kept_;
  const bool current = kept.table.defined() && kept.weights == distances_.const_data_ptr() &&
                       kept.version == static_cast<std::int64_t>(distances_._version()) && kept.nearest == nearest;
  if (!current || kept.table.size(1) < count) {
    // Room for the tokens that follow: n of them compute O(n) rows in total.
    const std::int64_t rows = current ? std::max(count, 2 * kept.table.size(1)) : count;
    kept = {compute(nearest, clamp_ < 0 ? rows : std::min(rows, std::max(count, clamp_ + 1 - nearest))).contiguous(),
            nearest, distances_.const_data_ptr(), static_cast<std::int64_t>(distances_._version())};
  }
  return kept.table.narrow(1, 0, count);
}

at::Tensor RelativeAttention::table_of_call(std::int64_t nearest, std::int64_t count, const AttentionContext& context) {
  if (!is_training() || site().position_dropout <= 0 || context.without_dropout) {
    return table(nearest, count);
  }
  // A layer's own draws have its number, and the embeddings are -1: these are of no layer.
  constexpr auto kAllLayers = static_cast<std::uint64_t>(-1);
  constexpr std::uint64_t kWaveSite = 2;
  return projected(dropped_waves(waves(nearest, count), nearest, site().position_dropout,
                                 random_bits(context.seed.number, kAllLayers, kWaveSite)));
}

at::Tensor RelativeAttention::forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                      const AttentionContext& context) {
  check_tensors(query, key, value, context.key_keep);
  require(query.size(1) == site().heads && query.size(3) == site().head_dim, "attention: `", description(),
          "` was made for ", site().heads, " heads of ", site().head_dim, " columns, found queries ", query.sizes());
  require(content_bias_.defined(), "attention: `", description(), "` of layer ", site().layer,
          " has no u and v: a model gives it those of layer 0");
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  const at::Tensor keep = kept_queries(context, query);
  // The farthest key is at position 0, the nearest one with a negative distance behind the first query.
  std::int64_t farthest = std::max<std::int64_t>(context.query_offset + query.size(2) - 1, 0);
  std::int64_t nearest = site().causal ? 0 : std::min<std::int64_t>(context.query_offset - key.size(2) + 1, 0);
  farthest = left_ >= 0 ? std::min(farthest, left_) : farthest;
  if (reach_ >= 0) {
    farthest = std::min(farthest, reach_);
    nearest = std::max(nearest, -reach_);
  }
  if (clamp_ >= 0) {
    farthest = std::min(farthest, clamp_);
    nearest = std::max(nearest, -clamp_);
  }
  const at::Tensor kept = kept_keys(context, key);
  RelativeCall call{.query = without_padding(query, keep),
                    .key = without_padding(key, kept),
                    .value = without_padding(value, kept),
                    .distances = table_of_call(nearest, farthest - nearest + 1, context),
                    .content_bias = content_bias_,
                    .distance_bias = distance_bias_,
                    .keep = kept,
                    .nearest = nearest,
                    .query_offset = context.query_offset,
                    .left = left_,
                    .causal = site().causal};
  if (reach_ >= 0) {
    call.left = reach_;
    call.reaches.assign(static_cast<std::size_t>(site().heads), reach_);
    call.seen = concat("window(left=", reach_, ", right=", reach_, ")");
  }
  const DropoutOfCall dropped = dropout_of(context);
  call.dropout = dropped.probability;
  call.seed = dropped.seed;
  if (context.observer != nullptr) {
    MassCall shown = mass_call_of(call);
    shown.query_keep = keep;
    show_call(*this, context, std::move(shown));
  }
  return without_padding(relative_attention(call), keep);
}

}  // namespace weft::attention
