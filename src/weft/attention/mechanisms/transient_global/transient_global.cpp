// SPDX-License-Identifier: Apache-2.0
// A window over keys behind those of the blocks, and columns of tokens over copies of the blocks' keys.
#include "weft/attention/mechanisms/transient_global/transient_global.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "weft/attention/autocast.h"
#include "weft/attention/mechanisms/pattern_attention.h"
#include "weft/attention/mechanisms/row_lengths.h"
#include "weft/attention/mechanisms/settings.h"
#include "weft/attention/operator/checks.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

constexpr std::int64_t kPublishedRadius = 127;
constexpr std::int64_t kPublishedBlock = 16;
constexpr std::int64_t kLargestSetting = std::int64_t{1} << 20;
constexpr pattern::Tile kColumnTile{64, 64};

struct TransientSettings {
  std::int64_t radius;
  std::int64_t block;
};

TransientSettings transient_settings(const std::string& expression) {
  MechanismSettings given(expression, "transient_global");
  const TransientSettings settings{given.number("radius", kPublishedRadius, 1, kLargestSetting),
                                   given.number("block", kPublishedBlock, 1, kLargestSetting)};
  given.check_all_taken({"radius", "block"});
  return settings;
}

double transient_operations(const TransientSettings& settings, const MechanismSite& site, std::int64_t length) {
  const auto tokens = static_cast<double>(length);
  const double seen = std::min(tokens, 2 * static_cast<double>(settings.radius) + 1);
  const std::int64_t whole_blocks = length / settings.block;
  const auto blocks = static_cast<double>(whole_blocks);
  return 4 * tokens * static_cast<double>(site.head_dim) * (seen + blocks);
}

MechanismSite without_slopes(MechanismSite site) {
  site.alibi = site.learned_slopes = false;
  return site;
}

at::TensorOptions table_options(const at::Tensor& query) {
  return query.options().dtype(accumulation_type(query)).requires_grad(false);
}

/// The tokens in columns: which row lies at each place, and at which place each row lies.
struct Columns {
  std::int64_t places = 0;
  at::Tensor queries;  // int64 [B or 1, 1, places]
  at::Tensor of_row;   // int64 [B or 1, 1, N]
};

Columns columns_of(const TextBlocks& blocks, std::int64_t length) {
  const at::TensorOptions options = blocks.of_token.options();
  const at::Tensor token = at::arange(length, options).unsqueeze(0);
  const at::Tensor natural = token.div(blocks.size, "floor");
  // Padding keeps its place where there is one: every row lies at a place where no other one does.
  const at::Tensor of_padding = blocks.of_token.lt(0).logical_and(natural < blocks.count);
  const at::Tensor moved = blocks.of_token.eq(natural).logical_or(of_padding).logical_not();
  const std::int64_t most_moved = moved.sum(1).max().item<std::int64_t>();
  Columns columns;
  columns.places = (blocks.size + most_moved) * blocks.count;
  const at::Tensor rank = moved.cumsum(1) - 1;
  const at::Tensor column = at::where(moved, rank + blocks.size, token.remainder(blocks.size));
  const at::Tensor block = at::where(moved, blocks.of_token.clamp_min(0), natural);
  const at::Tensor of_row = column * blocks.count + block;
  // A place that no row reads holds one that sees the same blocks.
  const at::Tensor place = at::arange(columns.places, options);
  const at::Tensor usual = place.remainder(blocks.count) * blocks.size + place.div(blocks.count, "floor");
  const at::Tensor held = at::where(place < blocks.size * blocks.count, usual, at::zeros_like(usual));
  columns.queries = held.expand({of_row.size(0), -1}).scatter(1, of_row, token.expand_as(of_row)).unsqueeze(1);
  columns.of_row = of_row.unsqueeze(1);
  return columns;
}

}  // namespace

MechanismSpec parse_transient_global(const std::string& expression) {
  const TransientSettings settings = transient_settings(expression);
  MechanismSpec spec;
  spec.name = "transient_global";
  spec.description = concat("transient_global(radius=", settings.radius, ", block=", settings.block, ")");
  spec.summed_block = settings.block;
  spec.limits.causal = "its rows sum up whole blocks, so that later tokens reach earlier ones";
  spec.limits.incremental = "its rows change with every token";
  spec.limits.cross = "its rows sum up blocks of one text";
  spec.not_observed = "transient_global also attends to sums of blocks, which are no places of the text";
  spec.operations = [settings](const MechanismSite& site, std::int64_t length) {
    return transient_operations(settings, site, length);
  };
  return spec;
}

TransientGlobalAttention::TransientGlobalAttention(MechanismSpec given, const MechanismSite& at,
                                                   const at::TensorOptions& options)
    : AttentionImpl(
          [&] {
            MechanismSpec named = with_learned_distances(std::move(given), at);
            if (at.buckets) {
              named.parameters.emplace_back("side_biases");
            }
            return named;
          }(),
          at),
      radius_(transient_settings(spec().description).radius),
      biases_(at, *this, options),
      side_biases_(without_slopes(at), *this, options, "side_biases") {}

void TransientGlobalAttention::share(AttentionImpl& first) {
  const auto* const owner = dynamic_cast<const TransientGlobalAttention*>(&first);
  biases_.share(owner != nullptr ? &owner->biases_ : nullptr, site(), spec());
  side_biases_.share(owner != nullptr ? &owner->side_biases_ : nullptr, site(), spec());
}

std::vector<at::Tensor> TransientGlobalAttention::shared_parameters() const {
  std::vector<at::Tensor> shared = biases_.shared();
  for (const at::Tensor& each : side_biases_.shared()) {
    shared.push_back(each);
  }
  return shared;
}

PermutedPart TransientGlobalAttention::window_part(const PermutedCall& call, const AttentionContext& context,
                                                   const TextBlocks& blocks) const {
  const std::int64_t length = call.query.size(2);
  AttentionContext behind;  // the blocks, whose keys come first; padded keys are hidden
  behind.query_offset = blocks.count;
  for (const pattern::RowBinding& row : context.rows) {
    behind.rows.push_back({{}, row.query_length, std::nullopt});
  }
  const std::string window = concat("window(", 2 * radius_, ")");
  const std::string seen =
      blocks.count == 0 ? window : concat(window, " & !global(first=", blocks.count, ", side=keys)");
  PermutedPart part;
  part.layout = layout_for_call(pattern::Pattern::parse(seen), site(), call.query, call.key, behind, false);
  const at::Tensor kept = kept_keys(context, call.query);
  if (kept.defined()) {
    part.key_keep = at::cat({at::ones({kept.size(0), blocks.count}, kept.options()), kept}, 1);
  }
  if (biases_.defined()) {
    part.distances = biases_.table(biases_.reach_for(blocks.count + length), table_options(call.query));
  }
  return part;
}

PermutedPart TransientGlobalAttention::block_part(const PermutedCall& call, const TextBlocks& blocks) const {
  const Columns columns = columns_of(blocks, call.query.size(2));
  pattern::Site places;
  places.query_length = places.key_length = places.maximum_length = columns.places;
  places.heads = site().heads;
  PermutedPart part;
  part.queries = columns.queries;
  part.places = columns.of_row;
  part.keys = at::arange(columns.places, blocks.of_token.options()).remainder(blocks.count).view({1, 1, -1});
  part.layout =
      cached_layout(pattern::Pattern::parse(concat("block(", blocks.count, ", window(left=0))")), places, kColumnTile);
  if (blocks.exists.defined()) {
    part.key_keep = blocks.exists.index_select(1, part.keys.flatten());
  }
  if (side_biases_.defined()) {
    part.distances = side_biases_.table(side_biases_.reach_for(blocks.count), table_options(call.query));
  }
  return part;
}

at::Tensor TransientGlobalAttention::forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                             const AttentionContext& context) {
  check_tensors(query, key, value, {});
  const auto* const blocks = dynamic_cast<const TextBlocks*>(context.structure.get());
  require(
      blocks != nullptr && query.size(1) == site().heads && context.query_offset == 0 &&
          key.size(2) == blocks->count + query.size(2),
      "attention: `", description(), "` of ", site().heads,
      " heads sees the sums of blocks, which its layer makes, and all tokens: expected a key more than queries for ",
      "each block, found ", query.sizes(), " and ", key.sizes(), " from position ", context.query_offset, " on");
  const at::Tensor kept = kept_queries(context, query);
  PermutedCall call;
  call.query = in_autocast_type(without_padding(query, kept));
  call.key = in_autocast_type(key);
  call.value = in_autocast_type(value);
  call.scale = 1.0 / std::sqrt(static_cast<double>(query.size(3)));
  const DropoutOfCall dropped = dropout_of(context);
  call.dropout = dropped.probability;
  call.seed = dropped.seed;
  call.parts.push_back(window_part(call, context, *blocks));
  if (blocks->count > 0) {
    call.parts.push_back(block_part(call, *blocks));
  }
  return without_padding(permuted_attention(call), kept);
}

}  // namespace weft::attention
