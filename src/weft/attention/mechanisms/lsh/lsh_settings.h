// SPDX-License-Identifier: Apache-2.0
// What the brackets of `lsh(...)` say, and what follows from it before a tensor is there.
#pragma once

#include <cstdint>
#include <string>

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

/// Of an expression as parse_lsh() takes it. Errors: kExpression.
HashAttentionSettings hash_attention_settings(const std::string& expression);

/// `lsh(causal=none|position, buckets=64x128, rounds=2, chunk=64, left=1, right=0, multiple=64, seed=0)`, with
/// causal=position `decode=whole|cached`, too, or `lsh(causal=rank, window=64, buckets=..., rounds=2, seed=0)`, all
/// optional; buckets that are not set follow from the model's maximum length. `seed=step` draws new rotations in each
/// training step. Errors: kExpression.
MechanismSpec parse_lsh(const std::string& expression);

}  // namespace weft::attention
