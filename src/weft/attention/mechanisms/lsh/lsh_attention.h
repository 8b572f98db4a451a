// SPDX-License-Identifier: Apache-2.0
// Attention by hashing (Reformer, Kitaev et al. 2020): rows that a random rotation sends into the same bucket see each
// other, so that time and memory follow the length. docs/long-texts/hashing.md has pictures of the edges.
#pragma once

#include <memory>

#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/lsh/lsh_settings.h"

namespace weft::attention {

/// Queries and keys are one projection x: query and key of a call hold the same rows, of which `query` may be the last,
/// and only `key` is read. Each round hashes the rows, sorts them by bucket (of equal ones the earlier first) and lets
/// each see its neighbours; lsh_rounds.h says what they compute. Padding has a bucket behind all others. Texts
/// of at most `chunk` tokens attend to all tokens. It learns nothing: rotations are drawn from the seed, with
/// `seed=step` in training mode from that of the call and the layer's number.
class LshAttention : public AttentionImpl {
 public:
  LshAttention(MechanismSpec spec, const MechanismSite& site);

  at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionContext& context) override;
  /// WholeText of kChunksByPosition, which cannot go on.
  std::unique_ptr<AttentionState> initial_state() const override;
  /// The state is keys and values, the digits of each key's buckets behind its columns. Errors: kUnsupported unless the
  /// form is kRank or decode=cached.
  at::Tensor step(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                  const AttentionContext& context, AttentionState& state) override;

 private:
  /// Errors: kArgument unless query is what key ends with, in sizes.
  void check_shared(const at::Tensor& query, const at::Tensor& key, const AttentionContext& context) const;
  /// Those of the expression's seed, drawn once, in the dtype of sums of `key` and on its device.
  at::Tensor lasting_rotations(const at::Tensor& key);
  /// The same, or with `seed=step` those of this training step.
  at::Tensor rotations_for(const at::Tensor& key, const AttentionContext& context);
  /// Those that the call is to repeat: int64 [B, H, rounds, N]; undefined where it repeats none.
  at::Tensor repeated_buckets(const at::Tensor& key, const AttentionContext& context) const;
  /// Of key rows, kept for a call that repeats this one.
  at::Tensor new_buckets(const at::Tensor& key, const at::Tensor& rotations, const AttentionContext& context) const;
  /// step() of decode=cached, without dropout. Errors: kArgument for padding.
  at::Tensor step_by_cache(const at::Tensor& key, const at::Tensor& value, const AttentionContext& context,
                           AttentionState& state);

  HashAttentionSettings settings_;
  struct Rotations;
  std::shared_ptr<Rotations> rotations_;
};

}  // namespace weft::attention
