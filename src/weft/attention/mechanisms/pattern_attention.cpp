// SPDX-License-Identifier: Apache-2.0
// A tile for the length of the call, the layout from the cache.
#include "weft/attention/mechanisms/pattern_attention.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "weft/attention/autocast.h"
#include "weft/attention/operator/checks.h"
#include "weft/attention/operator/operator.h"
#include "weft/attention/profile/attention_observer.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

// Up to so many queries have a tile of one row: a decoder's step, and a text of so few tokens in training too.
constexpr std::int64_t kFewQueries = 8;

pattern::Site site_of_call(const MechanismSite& site, const at::Tensor& query, const at::Tensor& key,
                           const AttentionContext& context) {
  pattern::Site asked;
  asked.query_length = query.size(2);
  asked.key_length = key.size(2);
  asked.query_offset = context.query_offset;
  asked.heads = site.heads;
  asked.layer = site.layer;
  asked.maximum_length = std::max(site.maximum_length, site.maximum_key_length);
  return asked;
}

bool has_own_length(const pattern::RowBinding& row) { return row.query_length || row.key_length; }

}  // namespace

LayoutPtr layout_for_call(const pattern::Pattern& pattern, const MechanismSite& site, const at::Tensor& query,
                          const at::Tensor& key, const AttentionContext& context, bool rows_differ) {
  const pattern::Site asked = site_of_call(site, query, key, context);
  // A decoded token is one query row, and the beams of a search are a few: a taller tile would compute a panel of 32.
  const pattern::Tile tile{asked.query_length <= kFewQueries ? 1 : 64, 64};
  const auto& rows = context.rows;
  const bool differ = rows_differ || std::any_of(rows.begin(), rows.end(), has_own_length);
  return cached_layout(pattern, asked, tile,
                       differ ? std::span<const pattern::RowBinding>(rows) : std::span<const pattern::RowBinding>());
}

PatternAttention::PatternAttention(MechanismSpec spec, const MechanismSite& site, const at::TensorOptions& options)
    : AttentionImpl(with_learned_distances(std::move(spec), site), site),
      DistanceBiased(DistanceBiases(site, *this, options)) {}

DistanceTable PatternAttention::distances_for(const at::Tensor& query, const at::Tensor& key,
                                              const AttentionContext& context) {
  const std::int64_t reach = biases_.reach_for(std::max(context.query_offset + query.size(2), key.size(2)));
  const at::TensorOptions options = query.options().dtype(accumulation_type(query)).requires_grad(false);
  if (!biases_.can_be_kept()) {
    return biases_.table(reach, options);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool same_scores = table_version_ == biases_.version() && table_place_ == biases_.place();
  const bool fits = table_.scores.defined() && table_.zero >= reach && same_scores &&
                    table_.scores.device() == query.device() &&
                    table_.scores.scalar_type() == options.dtype().toScalarType();
  if (!fits) {
    const at::NoGradGuard no_gradient;
    const auto roomy = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(reach) + 1));
    table_ = biases_.table(biases_.reach_for(roomy), options);
    table_version_ = biases_.version();
    table_place_ = biases_.place();
  }
  return table_;
}

std::shared_ptr<const StrideParts> PatternAttention::strides_for(const at::Tensor& query, const at::Tensor& key,
                                                                 const AttentionContext& context) {
  // Rows of several lengths have a layout each, and a distance table is one of the text.
  if (context.query_offset != 0 || query.size(2) != key.size(2) || biases_.defined() || !is_plain(query) ||
      std::any_of(context.rows.begin(), context.rows.end(), has_own_length)) {
    return nullptr;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (strides_length_ != query.size(2)) {
    strides_ = StrideParts::find(*spec().pattern, site_of_call(site(), query, key, context));
    strides_length_ = query.size(2);
  }
  return strides_;
}

at::Tensor PatternAttention::in_columns(const StrideParts& strides, const at::Tensor& query, const at::Tensor& key,
                                        const at::Tensor& value, const AttentionOptions& options) const {
  check_tensors(query, key, value, options.key_keep);
  PermutedCall call;
  call.query = in_autocast_type(query);
  call.key = in_autocast_type(key);
  call.value = in_autocast_type(value);
  call.parts = strides.parts(query, options.key_keep);
  call.scale = 1.0 / std::sqrt(static_cast<double>(query.size(3)));
  call.dropout = options.dropout;
  call.seed = options.seed;
  return permuted_attention(call);
}

at::Tensor PatternAttention::forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                     const AttentionContext& context) {
  require(query.dim() == 4 && key.dim() == 4,
          "attention: query and key must be [batch, heads, length, head_dim], found ", query.sizes(), " and ",
          key.sizes());
  AttentionOptions options;
  options.key_keep = context.key_keep;
  if (biases_.defined()) {
    options.distances = distances_for(query, key, context);
  }
  const DropoutOfCall dropped = dropout_of(context);
  options.dropout = dropped.probability;
  options.seed = dropped.seed;
  const std::shared_ptr<const StrideParts> strides = strides_for(query, key, context);
  if (strides != nullptr && context.observer == nullptr) {
    return in_columns(*strides, query, key, value, options);
  }
  const LayoutPtr layout = layout_for_call(*spec().pattern, this->site(), query, key, context, spec().needs_input);
  show_call(
      *this, context,
      {.query = query, .key = key, .layout = layout, .key_keep = options.key_keep, .distances = options.distances});
  return attention(query, key, value, layout, options).output;
}

}  // namespace weft::attention
