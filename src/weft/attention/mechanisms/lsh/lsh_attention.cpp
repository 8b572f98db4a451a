// SPDX-License-Identifier: Apache-2.0
// From rows to buckets, and from buckets to attention among rows that are near each other once they are sorted.
#include "weft/attention/mechanisms/lsh/lsh_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <mutex>

#include "weft/attention/mechanisms/lsh/lsh_cache.h"
#include "weft/attention/mechanisms/lsh/lsh_digits.h"
#include "weft/attention/mechanisms/lsh/lsh_recall.h"
#include "weft/attention/mechanisms/lsh/lsh_rounds.h"
#include "weft/attention/mechanisms/row_lengths.h"
#include "weft/attention/operator/checks.h"
#include "weft/attention/state/keys_and_values.h"
#include "weft/attention/state/state_checks.h"
#include "weft/attention/state/whole_text.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft::attention {
namespace {

constexpr std::int64_t kFewTokens = 8;  // each looks its keys up: more of them sort the whole text instead
constexpr std::uint64_t kRotationStream = 0x726f74617465;  // "rotate" in ASCII: apart from dropout's draws

std::shared_ptr<AttentionChoices> choices_with(const at::Tensor& buckets) {
  return std::make_shared<AttentionChoices>(AttentionChoices{std::make_shared<HashBuckets>(buckets)});
}

at::Tensor hidden_positions(const at::Tensor& keep) { return keep.logical_not().unsqueeze(1).unsqueeze(1); }

/// A whole number of times `places`: what is added and what is padded goes into the bucket behind all others.
HashedRows made_whole(const HashedRows& given, std::int64_t places, std::int64_t last_bucket) {
  const std::int64_t length = given.rows.size(2);
  const std::int64_t added = (places - length % places) % places;
  HashedRows whole = given;
  whole.rows = without_padding(given.rows, given.keep);
  whole.value = without_padding(given.value, given.keep);
  if (added > 0) {
    whole.rows = at::constant_pad_nd(whole.rows, {0, 0, 0, added});
    whole.value = at::constant_pad_nd(whole.value, {0, 0, 0, added});
    whole.buckets = at::constant_pad_nd(whole.buckets, {0, added}, last_bucket);
    const at::Tensor keep = given.keep.defined()
                                ? given.keep
                                : at::ones({given.rows.size(0), length}, given.rows.options().dtype(at::kBool));
    whole.keep = at::constant_pad_nd(keep, {0, added}, false);
  }
  if (whole.keep.defined()) {
    whole.buckets = whole.buckets.masked_fill(hidden_positions(whole.keep), last_bucket);
  }
  return whole;
}

/// [B, H, N, D_v]; rows that are padded are zeros.
at::Tensor hashed_attention(const HashedRows& given, const HashAttentionSettings& settings) {
  const std::int64_t length = given.rows.size(2);
  const std::int64_t padding = bucket_count(settings.hash.factors);
  if (settings.form == HashForm::kRank) {
    return without_padding(attention_by_rank(made_whole(given, 1, padding), settings.window), given.keep);
  }
  HashChunks chunks{settings.chunk, settings.left, settings.right, settings.form == HashForm::kChunksByPosition};
  HashedRows rows = given;
  std::int64_t places = settings.multiple;
  if (length <= settings.chunk) {  // every token sees every token, in one round
    chunks.chunk = places = length;
    chunks.left = chunks.right = 0;
    rows.buckets = at::zeros_like(given.buckets.narrow(2, 0, 1));
  }
  rows = made_whole(rows, places, padding);
  return without_padding(attention_in_chunks(rows, chunks).narrow(2, 0, length), given.keep);
}

/// The same for each row of a batch without what lies beyond its length.
at::Tensor alone(const HashedRows& batch, const std::vector<pattern::RowBinding>& rows,
                 const HashAttentionSettings& settings) {
  const std::int64_t longest = batch.rows.size(2);
  std::vector<at::Tensor> outputs;
  for (std::int64_t row = 0; row < batch.rows.size(0); ++row) {
    const auto own = rows[static_cast<std::size_t>(row)].key_length;
    const std::int64_t length = std::clamp<std::int64_t>(own.value_or(longest), 1, longest);
    const auto part = [&](const at::Tensor& tensor, std::int64_t dimension) {
      return tensor.narrow(0, row, 1).narrow(dimension, 0, length);
    };
    const DropoutSeed seed = batch.seed.derived(static_cast<std::uint64_t>(row));
    const HashedRows single{part(batch.rows, 2), part(batch.value, 2), part(batch.buckets, 3),
                            part(batch.keep, 1), batch.dropout,        seed};
    outputs.push_back(at::constant_pad_nd(hashed_attention(single, settings), {0, 0, 0, longest - length}));
  }
  return at::cat(outputs, 0);
}

}  // namespace

/// Of one dtype and device, drawn when first asked for.
struct LshAttention::Rotations {
  std::mutex mutex;
  at::Tensor drawn;
};

LshAttention::LshAttention(MechanismSpec spec, const MechanismSite& site)
    : AttentionImpl(std::move(spec), site),
      settings_(hash_attention_settings(this->spec().description)),
      rotations_(std::make_shared<Rotations>()) {
  if (settings_.hash.factors.empty()) {
    require(site.maximum_length > 0, "attention: `", description(),
            "` needs the length of the longest text or buckets=..., found neither");
    const std::int64_t chunk = settings_.form == HashForm::kRank ? settings_.window : settings_.chunk;
    settings_.hash.factors = default_factors(site.maximum_length, chunk);
  }
}

at::Tensor LshAttention::lasting_rotations(const at::Tensor& key) {
  const at::TensorOptions options = key.options().dtype(accumulation_type(key));
  const std::lock_guard<std::mutex> lock(rotations_->mutex);
  at::Tensor& drawn = rotations_->drawn;
  if (!drawn.defined() || drawn.scalar_type() != accumulation_type(key) || drawn.device() != key.device()) {
    drawn = rotations_of(settings_.hash, site().heads, site().head_dim, options);
  }
  return drawn;
}

at::Tensor LshAttention::rotations_for(const at::Tensor& key, const AttentionContext& context) {
  if (!settings_.anew || !is_training()) {
    return lasting_rotations(key);
  }
  HashSettings hash = settings_.hash;
  hash.seed = random_bits(context.seed.number, static_cast<std::uint64_t>(site().layer), kRotationStream);
  return rotations_of(hash, site().heads, site().head_dim, key.options().dtype(accumulation_type(key)));
}

at::Tensor LshAttention::repeated_buckets(const at::Tensor& key, const AttentionContext& context) const {
  if (context.choices == nullptr || context.choices->made == nullptr) {
    return {};
  }
  const auto* const made = dynamic_cast<const HashBuckets*>(context.choices->made.get());
  require(made != nullptr, "attention: `", description(), "` repeats a call with what another mechanism chose in it");
  const at::Tensor& buckets = made->numbers;
  const std::vector<std::int64_t> sizes = {key.size(0), key.size(1), settings_.hash.rounds, key.size(2)};
  require(buckets.sizes() == at::IntArrayRef(sizes) && buckets.scalar_type() == at::kLong, "attention: `",
          description(), "` repeats a call with buckets int64 ", at::IntArrayRef(sizes), ", found ",
          buckets.scalar_type(), " ", buckets.sizes());
  return buckets;
}

at::Tensor LshAttention::new_buckets(const at::Tensor& key, const at::Tensor& rotations,
                                     const AttentionContext& context) const {
  at::Tensor buckets = buckets_of(key.detach(), rotations, settings_.hash.factors);
  if (context.choices != nullptr) {
    context.choices->made = std::make_shared<HashBuckets>(buckets);
  }
  return buckets;
}

void LshAttention::check_shared(const at::Tensor& query, const at::Tensor& key, const AttentionContext& context) const {
  const std::int64_t offset = context.query_offset;
  const bool by_rank = settings_.form == HashForm::kRank;
  require(key.size(1) == site().heads && query.size(1) == site().heads && key.size(3) == site().head_dim,
          "attention: `", description(), "` was made for ", site().heads, " heads of ", site().head_dim,
          " columns of queries and as many of keys, found ", query.sizes(), " and ", key.sizes());
  require(offset + query.size(2) == key.size(2) && (offset == 0 || by_rank), "attention: queries of `", description(),
          "` are ", by_rank ? "the last rows of its keys" : "its keys", ", found ", query.size(2), " from position ",
          offset, " on and ", key.size(2), " keys");
}

at::Tensor LshAttention::forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                 const AttentionContext& context) {
  check_tensors(query, key, value, context.key_keep);
  check_shared(query, key, context);
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  if (key.numel() == 0) {
    return at::zeros_like(value.narrow(2, 0, query.size(2)));
  }
  at::Tensor buckets = repeated_buckets(key, context);
  if (!buckets.defined()) {
    buckets = new_buckets(key, rotations_for(key, context), context);
  }
  HashedRows rows{key, value, buckets, kept_keys(context, key)};
  const DropoutOfCall dropped = dropout_of(context);
  rows.dropout = dropped.probability;
  rows.seed = dropped.seed;
  // Chunks depend on the length: a row of the batch that has its own is computed by itself.
  const at::Tensor own = within_lengths(context.rows, &pattern::RowBinding::key_length, key);
  const bool together = settings_.form == HashForm::kRank || !own.defined();
  const at::Tensor output = together ? hashed_attention(rows, settings_) : alone(rows, context.rows, settings_);
  return without_padding(output.narrow(2, context.query_offset, query.size(2)), kept_queries(context, query));
}

std::unique_ptr<AttentionState> LshAttention::initial_state() const {
  if (settings_.form == HashForm::kChunksByPosition && !settings_.cached) {
    return std::make_unique<WholeText>(site().layer);
  }
  return AttentionImpl::initial_state();
}

at::Tensor LshAttention::step_by_cache(const at::Tensor& key, const at::Tensor& value, const AttentionContext& context,
                                       AttentionState& state) {
  auto& held = state_as<KeysAndValues>(state);
  check_goes_on(context.query_offset, state);
  check_tensors(key, key, value, {});
  require(!context.key_keep.defined() && context.rows.empty(), "attention: `", description(),
          "` goes on behind texts without padding");
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  const CacheRules rules{bucket_count(settings_.hash.factors),
                         settings_.hash.rounds,
                         settings_.chunk,
                         settings_.left,
                         settings_.right,
                         settings_.multiple};
  const std::int64_t digits = digits_for(rules.rounds * (rules.buckets + 1));
  const at::Tensor buckets = new_buckets(key, lasting_rotations(key), context);
  const std::int64_t first = held.kept();
  const std::int64_t count = key.size(2);
  const auto remember = [&](const at::Tensor& numbers, const at::Tensor& sorted) {  // whether the next token is sorted
    const at::Tensor flags = sorted.view({1, 1, -1, 1}).expand({key.size(0), key.size(1), count, 1});
    held.append(at::cat({key, digits_of(numbers, digits, key), flags.to(key.scalar_type())}, -1), value);
  };
  const at::Tensor tokens = at::arange(1, count + 1, buckets.options()) + first;
  if (first == 0) {
    remember(numbers_of_prompt(buckets, rules), at::full_like(tokens, count > rules.chunk ? 1 : 0));
    AttentionContext whole = context;
    whole.choices = choices_with(buckets);
    return forward(key, key, value, whole);
  }
  const std::int64_t columns = rules.rounds * digits;
  const auto numbers_in = [&](const at::Tensor& rows) {
    return numbers_of_digits(rows.narrow(-1, key.size(3), columns), digits);
  };
  remember(numbers_behind(numbers_in(held.keys(first)), buckets, rules), tokens.ge(rules.chunk));
  const at::Tensor all = held.keys(first + count);
  const at::Tensor rows = all.narrow(-1, 0, key.size(3));
  const at::Tensor numbers = numbers_in(all);
  std::vector<at::Tensor> outputs;
  for (std::int64_t last = first; last < first + count; ++last) {
    const bool sorted = all[0][0][last - 1][key.size(3) + columns].item<double>() != 0;
    outputs.push_back(last_row_from_cache(rows.narrow(2, 0, last + 1), held.values(last + 1),
                                          sorted ? numbers.narrow(3, 0, last + 1) : at::Tensor(), rules));
  }
  return at::cat(outputs, 2);
}

at::Tensor LshAttention::step(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                              const AttentionContext& context, AttentionState& state) {
  if (settings_.cached) {
    return step_by_cache(key, value, context, state);
  }
  if (settings_.form != HashForm::kRank) {
    fail(ErrorKind::kUnsupported, "attention: `", description(),
         "` cannot go on behind tokens before, because a later token changes what earlier ones gave; compute whole "
         "texts, or train a model with `lsh(causal=rank)`");
  }
  auto& held = state_as<KeysAndValues>(state);
  check_goes_on(context.query_offset, state);
  check_tensors(query, key, value, {});
  const std::int64_t digits = digits_for(bucket_count(settings_.hash.factors));  // that of padding is the largest
  // Buckets of earlier tokens are in the state: all have the same rotations, whatever the call's seed.
  const at::Tensor repeated = repeated_buckets(key, context);
  const at::Tensor added = repeated.defined() ? repeated : new_buckets(key, lasting_rotations(key), context);
  held.append(at::cat({key, digits_of(added, digits, key)}, -1), value);
  const std::int64_t tokens = held.kept() + key.size(2);
  const at::Tensor all = held.keys(tokens);
  const at::Tensor rows = all.narrow(-1, 0, key.size(3));
  const at::Tensor buckets = numbers_of_digits(all.narrow(-1, key.size(3), all.size(3) - key.size(3)), digits);
  AttentionContext behind = context;
  behind.query_offset = held.kept();
  behind.choices = choices_with(buckets.contiguous());
  if (dropout_of(context).probability > 0 || query.size(2) > kFewTokens) {
    return forward(query, rows, held.values(tokens), behind);
  }
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  check_tensors(query, rows, held.values(tokens), context.key_keep);
  RecallCall call{rows, held.values(tokens), buckets, query.size(2), settings_.window};
  const at::Tensor keep = kept_keys(context, rows);
  if (!keep.defined()) {
    return recalled_rows(call);
  }
  call.buckets = buckets.masked_fill(hidden_positions(keep), bucket_count(settings_.hash.factors));
  const at::Tensor output = without_padding(recalled_rows(call), keep.narrow(1, held.kept(), query.size(2)));
  return without_padding(output, kept_queries(context, query));
}

}  // namespace weft::attention
