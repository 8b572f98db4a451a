// SPDX-License-Identifier: Apache-2.0
// Attention by hashing (Reformer, Kitaev et al. 2020): rows that a random rotation sends into the same bucket see each
// other, so that time and memory follow the length. docs/long-texts/hashing.md has pictures of the edges.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/lsh/lsh_buckets.h"

namespace weft::attention {

/// Who sees whom.
enum class HashForm {
  kChunks,            ///< of an encoder, as released
  kChunksByPosition,  ///< the same without later positions, as released decoders: later tokens move earlier results
  kRank,              ///< earlier rows of the same bucket: the past alone decides
};

/// What the brackets say.
struct HashAttentionSettings {
  HashForm form = HashForm::kChunks;
  HashSettings hash;          ///< without factors where they follow from the longest text
  bool anew = false;          ///< each training step draws rotations of its own; everything else has those of hash.seed
  std::int64_t chunk = 64;    ///< rows of a chunk; of kRank, that are computed together
  std::int64_t left = 1;      ///< chunks before its own that a row sees
  std::int64_t right = 0;     ///< and behind
  std::int64_t multiple = 0;  ///< places of a round are a multiple of it, and it is one of `chunk`; 0: of the chunk
  bool cached = false;        ///< of kChunksByPosition: token by token as `transformers` with its cache (lsh_cache.h)
  std::int64_t window = 64;   ///< of kRank: earlier rows of its bucket that a row sees
};

/// `lsh(causal=none|position, buckets=64x128, rounds=2, chunk=64, left=1, right=0, multiple=64, seed=0)`, with
/// causal=position `decode=whole|cached`, too, or `lsh(causal=rank, window=64, buckets=..., rounds=2, seed=0)`, all
/// optional; buckets that are not set follow from the model's maximum length. `seed=step` draws new rotations in each
/// training step. Errors: kExpression.
MechanismSpec parse_lsh(const std::string& expression);

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
