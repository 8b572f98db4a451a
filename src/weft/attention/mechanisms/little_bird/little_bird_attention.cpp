// SPDX-License-Identifier: Apache-2.0
// Keys in an order in which a distance says what they are, and the table of these distances.
#include "weft/attention/mechanisms/little_bird/little_bird_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "weft/attention/mechanisms/pattern_attention.h"
#include "weft/attention/mechanisms/row_lengths.h"
#include "weft/attention/mechanisms/settings.h"
#include "weft/attention/operator/checks.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

constexpr std::int64_t kUsualBlock = 64;
constexpr std::int64_t kUsualLatents = 64;
constexpr std::int64_t kMostLatents = 4096;
constexpr std::int64_t kLargestBlock = std::int64_t{1} << 16;
constexpr std::int64_t kKeysOfTile = 64;  // keys of a tile of the fused kernel: latents begin with one

struct LittleBirdSettings {
  std::int64_t block;
  std::int64_t latents;
};

LittleBirdSettings little_bird_settings(const std::string& expression) {
  MechanismSettings given(expression, "little_bird");
  const LittleBirdSettings settings{given.number("block", kUsualBlock, 1, kLargestBlock),
                                    given.number("latents", kUsualLatents, 1, kMostLatents)};
  given.check_all_taken({"block", "latents"});
  return settings;
}

// Three blocks, the first one and the latents for each token, and the whole text for each latent.
double little_bird_operations(const LittleBirdSettings& settings, const MechanismSite& site, std::int64_t length) {
  const auto tokens = static_cast<double>(length);
  const double seen = std::min(tokens, 4 * static_cast<double>(settings.block));
  return 4 * tokens * static_cast<double>(site.head_dim) * (seen + 2 * static_cast<double>(settings.latents));
}

/// Keys between the tokens and the latents: more than a window reaches, and tiles begin with latents.
std::int64_t gap_behind(std::int64_t tokens, std::int64_t block) {
  const std::int64_t first_latent = (tokens + 2 * block + kKeysOfTile - 1) / kKeysOfTile * kKeysOfTile;
  return first_latent - tokens;
}

pattern::Pattern seen_by_tokens(const LittleBirdSettings& settings, std::int64_t gap) {
  return pattern::Pattern::parse(concat("block(", settings.block, ", window(3) | global(first=1, side=keys)) & ",
                                        "!global(last=", gap + settings.latents, ", side=keys) | ",
                                        "global(last=", settings.latents, ", side=keys)"));
}

/// bool [B, tokens + gap + latents] from that of the tokens, or undefined: all.
at::Tensor kept_with_latents(const at::Tensor& kept, std::int64_t gap, std::int64_t latents) {
  if (!kept.defined()) {
    return {};
  }
  return at::cat({kept, at::ones({kept.size(0), gap + latents}, kept.options())}, 1);
}

}  // namespace

MechanismSpec parse_little_bird(const std::string& expression) {
  const LittleBirdSettings settings = little_bird_settings(expression);
  MechanismSpec spec;
  spec.name = "little_bird";
  spec.description = concat("little_bird(block=", settings.block, ", latents=", settings.latents, ")");
  spec.latents = settings.latents;
  spec.brings_positions = true;
  spec.parameters = {"alpha", "beta", "gamma"};
  spec.limits.causal = "its latents see the whole text, so that later tokens reach earlier ones";
  spec.limits.incremental = "its latents change with every token";
  spec.limits.cross = "its latents are those of one text";
  spec.not_observed = "little_bird also attends to latents, which are no places of the text";
  spec.limits.distances = "its own scores know the distance";
  spec.operations = [settings](const MechanismSite& site, std::int64_t length) {
    return little_bird_operations(settings, site, length);
  };
  return spec;
}

LittleBirdAttention::LittleBirdAttention(MechanismSpec spec, const MechanismSite& site,
                                         const at::TensorOptions& options)
    : AttentionImpl(std::move(spec), site) {
  const LittleBirdSettings settings = little_bird_settings(this->spec().description);
  block_ = settings.block;
  latents_ = settings.latents;
  const auto slopes = [&](const char* name) { return register_parameter(name, at::empty({site.heads}, options)); };
  alpha_ = slopes("alpha");
  beta_ = slopes("beta");
  gamma_ = slopes("gamma");
  const at::NoGradGuard without_gradients;
  alpha_.zero_();
  if (!beta_.is_meta()) {
    beta_.copy_(alibi_slopes(site.heads));
    gamma_.copy_(alibi_slopes(site.heads));
  }
}

// Entry 0 is that of the latents, which are farther behind a query than any token that it sees; then tokens behind the
// query from the farthest on, the query itself, and tokens before it.
DistanceTable LittleBirdAttention::distances(std::int64_t tokens, const at::Tensor& query) const {
  const at::TensorOptions options = at::TensorOptions(query.device()).dtype(accumulation_type(query));
  const auto wide = [&](const at::Tensor& slopes) { return slopes.to(options).unsqueeze(1); };  // [H, 1]
  const std::int64_t reach = 2 * block_;
  const at::Tensor of_latents = (wide(beta_) + wide(gamma_)) * (static_cast<double>(block_) / 2);
  const at::Tensor behind = wide(gamma_) * at::arange(reach - 1, 0, -1, options);
  const at::Tensor before = wide(beta_) * at::arange(tokens, options);
  const at::Tensor of_first = wide(alpha_).expand({-1, reach - 1 + tokens});
  return {-at::stack({at::cat({of_latents, behind, before}, 1), at::cat({of_latents, of_first}, 1)}, 1), reach};
}

at::Tensor LittleBirdAttention::forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                        const AttentionContext& context) {
  check_tensors(query, key, value, {});
  const std::int64_t tokens = query.size(2);
  require(query.size(1) == site().heads && context.query_offset == 0 && key.size(2) == latents_ + tokens,
          "attention: `", description(), "` of ", site().heads, " heads sees ", latents_,
          " latents and all tokens: expected as many keys more than queries, found ", query.sizes(), " and ",
          key.sizes(), " from position ", context.query_offset, " on");
  const std::int64_t gap = gap_behind(tokens, block_);
  const auto with_latents_last = [&](const at::Tensor& rows) {
    const at::Tensor none =
        at::zeros({rows.size(0), rows.size(1), gap, rows.size(3)}, rows.options().requires_grad(false));
    return at::cat({rows.narrow(2, latents_, tokens), none, rows.narrow(2, 0, latents_)}, 2);
  };
  const at::Tensor keys = with_latents_last(key);
  AttentionContext lengths;  // of queries alone: padded keys are hidden, and latents lie behind them
  for (const pattern::RowBinding& row : context.rows) {
    lengths.rows.push_back({{}, row.query_length, std::nullopt});
  }
  AttentionOptions options;
  options.key_keep = kept_with_latents(kept_keys(context, key.narrow(2, latents_, tokens)), gap, latents_);
  options.distances = distances(tokens, query);
  const DropoutOfCall dropped = dropout_of(context);
  options.dropout = dropped.probability;
  options.seed = dropped.seed;
  const LayoutPtr layout =
      layout_for_call(seen_by_tokens({block_, latents_}, gap), site(), query, keys, lengths, false);
  return attention(query, keys, with_latents_last(value), layout, options).output;
}

}  // namespace weft::attention
