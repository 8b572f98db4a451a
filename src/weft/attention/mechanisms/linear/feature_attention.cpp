// SPDX-License-Identifier: Apache-2.0
// A call as products of features: numerators and denominators are columns of one product.
#include "weft/attention/mechanisms/linear/feature_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/cummax.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/matmul.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "weft/attention/mechanisms/linear/causal_product.h"
#include "weft/attention/mechanisms/linear/decayed_product.h"
#include "weft/attention/mechanisms/row_lengths.h"
#include "weft/attention/operator/checks.h"
#include "weft/attention/state/running_sums.h"
#include "weft/attention/state/state_checks.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

constexpr double kNoLevel = -1e30;  // of sums over nothing: beside any other they are nothing
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

at::Tensor sums_of(const at::Tensor& key, const at::Tensor& value) {
  return at::matmul(key.transpose(-2, -1), value);  // [B, H_kv, 1, D, D_v + 1]
}

/// Takes numbers that are not finite out of the keys and values: in a product with zeros they would reach rows before
/// their own. Returns which entries they reach, bool [B, H_kv, 1, K, D_v + 1], undefined where all are finite.
at::Tensor take_not_finite(FeatureParts& parts) {
  if (parts.key.is_meta() || all_finite({parts.key, parts.value})) {
    return {};
  }
  const at::Tensor key = at::isfinite(parts.key).logical_not().any(-1, true);
  const at::Tensor value = at::isfinite(parts.value).logical_not();
  parts.key = parts.key.masked_fill(key, 0.0);
  parts.value = parts.value.masked_fill(value, 0.0);
  if (parts.log_gates.defined()) {  // a gate that is not finite makes its key so
    parts.log_gates = parts.log_gates.masked_fill(key.squeeze(-1), 0.0);
  }
  return (key | value).cumsum(-2) > 0;
}

/// The largest level so far, before the first key and behind each, [B, H, 1 + K]; of all keys where not `causal`. Keys
/// that are padded or not finite have none.
at::Tensor running_levels(const at::Tensor& levels, const at::Tensor& before, bool causal) {
  const at::Tensor first =
      before.defined() ? before.squeeze(-1) : at::full({levels.size(0), levels.size(1), 1}, kNoLevel, levels.options());
  const at::Tensor all = at::cat({first, levels}, -1);
  return causal ? std::get<0>(at::cummax(all, -1)) : all.amax(-1, true).expand(all.sizes());
}

/// Levels of the keys [B, H, K], those of padding and of what is not finite taken out.
at::Tensor known_levels(const at::Tensor& levels, const at::Tensor& keep) {
  const at::Tensor known = levels.masked_fill(at::isfinite(levels).logical_not(), kNoLevel);
  return keep.defined() ? known.masked_fill(keep.logical_not().unsqueeze(1), kNoLevel) : known;
}

/// Those of sums behind `first` keys and behind each of the `count` next ones; the last one goes on beyond the keys.
at::Tensor levels_from(const at::Tensor& levels, std::int64_t first, std::int64_t count) {
  const std::int64_t here = std::clamp<std::int64_t>(levels.size(-1) - 1 - first, 0, count);
  const at::Tensor rows = levels.narrow(-1, first, here + 1);
  const at::Tensor last = levels.narrow(-1, levels.size(-1) - 1, 1);
  return here == count ? rows : at::cat({rows, last.expand({-1, -1, -1, count - here})}, -1);
}

/// Rows [first, first + count) of `tensor` [..., K, C], with zeros beyond its end.
at::Tensor rows_from(const at::Tensor& tensor, std::int64_t first, std::int64_t count) {
  const std::int64_t here = std::clamp<std::int64_t>(tensor.size(-2) - first, 0, count);
  const at::Tensor rows = tensor.narrow(-2, std::min(first, tensor.size(-2)), here);
  return here == count ? rows : at::constant_pad_nd(rows, {0, 0, 0, count - here});
}

/// `values` [..., n, C] of the first `count` keys, as sums behind the last of them have them.
at::Tensor at_last_level(const at::Tensor& values, const at::Tensor& levels, std::int64_t count) {
  if (!levels.defined()) {
    return values;
  }
  return values * (levels.narrow(-1, 1, count) - levels.narrow(-1, count, 1)).exp().unsqueeze(-1);
}

/// Numerators and denominators [B, H_kv, G, Q, D_v + 1] of queries that come with the keys, behind `sums` of those
/// before.
at::Tensor mixed_behind(const at::Tensor& sums, FeatureParts parts) {
  const at::Tensor reached = take_not_finite(parts);
  const at::Tensor mixed = parts.log_gates.defined()
                               ? decayed_product(parts.query, parts.key, parts.value, parts.log_gates, sums)
                               : causal_product(parts.query, parts.key, parts.value, sums, parts.levels);
  return reached.defined() ? mixed.masked_fill(reached, kNotANumber) : mixed;
}

/// Takes the keys and values in.
void append_to(RunningSums& held, const FeatureParts& parts) {
  const std::int64_t count = parts.key.size(-2);
  if (parts.log_gates.defined()) {
    const Decayed decayed = decayed_keys(parts.key.squeeze(2), parts.log_gates.squeeze(2));
    held.append(decayed.keys, parts.value.squeeze(2), {.kept = decayed.kept});
  } else if (parts.levels.defined()) {
    require(!held.sums().defined() || held.level().defined(),
            "attention: the state holds sums without their level, which an earlier version of Weft saved; begin again");
    const at::Tensor last = parts.levels.narrow(-1, count, 1);  // [B, H_kv, 1, 1]
    const at::Tensor kept = (parts.levels.narrow(-1, 0, 1) - last).exp();
    held.append(parts.key.squeeze(2), at_last_level(parts.value, parts.levels, count).squeeze(2),
                {.kept = kept, .level = last});
  } else {
    held.append(parts.key.squeeze(2), parts.value.squeeze(2));
  }
}

/// The same for queries at positions from `offset` on, and keys at positions from 0 on.
at::Tensor causal_mixed(const FeatureParts& parts, std::int64_t offset) {
  const std::int64_t before = std::min(offset, parts.key.size(-2));
  const std::int64_t count = parts.query.size(-2);
  FeatureParts here{parts.query, rows_from(parts.key, offset, count), rows_from(parts.value, offset, count)};
  const bool forgets = parts.log_gates.defined();
  if (forgets) {
    here.log_gates = rows_from(parts.log_gates.unsqueeze(-1), offset, count).squeeze(-1);
  }
  if (parts.levels.defined()) {
    here.levels = levels_from(parts.levels, before, count);
  }
  if (before == 0) {
    return mixed_behind({}, here);
  }
  const at::Tensor earlier = parts.key.narrow(-2, 0, before);
  const at::Tensor values = parts.value.narrow(-2, 0, before);
  if (forgets) {
    return mixed_behind(sums_of(decayed_keys(earlier, parts.log_gates.narrow(-1, 0, before)).keys, values), here);
  }
  return mixed_behind(sums_of(earlier, at_last_level(values, parts.levels, before)), here);
}

}  // namespace

FeatureParts FeatureAttention::parts_of(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                        const at::Tensor& keep, const at::Tensor& before) const {
  const at::ScalarType type = accumulation_type(query);
  const std::int64_t heads = key.size(1);
  // Padding is cleared before the features, where NaN would survive the gradient, and behind them: phi(0) is not 0.
  const at::Tensor cleared = without_padding(key, keep).to(type);
  const KeyFeatures made = key_features(cleared);
  at::Tensor mapped = without_padding(made.features, keep);
  at::Tensor gates = log_gates(cleared);
  if (gates.defined()) {
    mapped = mapped * -gates.expm1().unsqueeze(-1);
    gates = without_padding(gates.unsqueeze(-1), keep).transpose(-2, -1);  // [B, H_kv, 1, K]
  }
  const at::Tensor ones = value.new_ones({value.size(0), heads, value.size(2), 1}, type);
  at::Tensor values = at::cat({without_padding(value, keep).to(type), ones}, -1);
  at::Tensor levels;
  if (made.levels.defined()) {
    const at::Tensor known = known_levels(made.levels, keep);
    levels = running_levels(known, before, site().causal);
    // The factor of a key is one of its values, too, which have fewer columns than features.
    values = values * (known - levels.narrow(-1, 1, known.size(-1))).exp().unsqueeze(-1);
    levels = levels.unsqueeze(2);
  }
  return {query_features(query.to(type)).unflatten(1, {heads, query.size(1) / heads}), mapped.unsqueeze(2),
          values.unsqueeze(2), gates, levels};
}

at::Tensor FeatureAttention::quotient_of(const at::Tensor& mixed, at::ScalarType type, const at::Tensor& keep) const {
  const std::int64_t width = mixed.size(-1) - 1;
  const at::Tensor output = (mixed.narrow(-1, 0, width) / denominators(mixed.narrow(-1, width, 1))).flatten(1, 2);
  return without_padding(output, keep).to(type);
}

at::Tensor FeatureAttention::forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                     const AttentionContext& context) {
  check_tensors(query, key, value, context.key_keep);
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  const at::Tensor keep = kept_queries(context, query);
  const FeatureParts parts = parts_of(without_padding(query, keep), key, value, kept_keys(context, key));
  const at::Tensor mixed = site().causal ? causal_mixed(parts, context.query_offset)
                                         : at::matmul(parts.query, sums_of(parts.key, parts.value));
  return quotient_of(mixed, query.scalar_type(), keep);
}

std::unique_ptr<AttentionState> FeatureAttention::initial_state() const {
  return std::make_unique<RunningSums>(site().layer);
}

at::Tensor FeatureAttention::step(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                  const AttentionContext& context, AttentionState& state) {
  auto& held = state_as<RunningSums>(state);
  check_goes_on(context.query_offset, state);
  const std::int64_t before = held.length();
  AttentionContext added = context;
  if (context.key_keep.defined()) {
    require(key.dim() == 4 && context.key_keep.dim() == 2 && context.key_keep.size(1) == before + key.size(2),
            "attention: key_keep must be [batch, ", before, " tokens of the state and those of key ", key.sizes(),
            "], found ", context.key_keep.sizes());
    added.key_keep = context.key_keep.narrow(1, before, key.size(2));
  }
  check_tensors(query, key, value, added.key_keep);
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  const at::Tensor keep = kept_queries(context, query);
  const FeatureParts parts =
      parts_of(without_padding(query, keep), key, value, kept_keys(added, key, before), held.level());
  append_to(held, parts);
  // One token sees all that was appended; several each see a part of it.
  const bool one = query.size(2) == 1;
  const at::Tensor sums = one ? held.appended() : held.sums();
  const at::Tensor grouped = sums.defined() ? sums.unsqueeze(2) : sums;
  return quotient_of(one ? at::matmul(parts.query, grouped) : mixed_behind(grouped, parts), query.scalar_type(), keep);
}

}  // namespace weft::attention
