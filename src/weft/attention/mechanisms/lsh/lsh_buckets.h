// SPDX-License-Identifier: Apache-2.0
// Angular hashing (Andoni et al. 2015; Kitaev et al. 2020, section 2): random rotations give near rows one number.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/attention/context.h"

namespace weft::attention {

/// What `lsh` decides in a call.
struct HashBuckets : MechanismChoice {
  explicit HashBuckets(at::Tensor its_numbers) : numbers(std::move(its_numbers)) {}

  at::Tensor numbers;  ///< int64 [B, H, rounds, K]
};

/// How rows are hashed, in the words of the released programs.
struct HashSettings {
  std::vector<std::int64_t> factors;  ///< even numbers; a bucket is b1 + f1 * (b2 + f2 * ...), b_i in [0, f_i)
  std::int64_t rounds = 1;            ///< hashes of each row
  std::uint64_t seed = 0;             ///< as torch.manual_seed(seed) before the draw
};

/// The product of `factors`: buckets are numbers below it.
std::int64_t bucket_count(const std::vector<std::int64_t>& factors);

/// The factors that `transformers` takes where none are set: 2^floor(log2(2 N / chunk)) buckets, N the longest text,
/// and two factors where that is more than 2 max(sqrt(N / chunk), chunk).
std::vector<std::int64_t> default_factors(std::int64_t longest, std::int64_t chunk);

/// Rotations [heads, head_dim, rounds, sum(factors) / 2] from N(0, 1), drawn on the CPU by a generator of their own.
at::Tensor rotations_of(const HashSettings& settings, std::int64_t heads, std::int64_t head_dim,
                        const at::TensorOptions& options);

/// rows [B, H, N, D], rotations as above -> int64 [B, H, rounds, N]: digit i is argmax([x R_i, -x R_i]). No gradients.
at::Tensor buckets_of(const at::Tensor& rows, const at::Tensor& rotations, const std::vector<std::int64_t>& factors);

}  // namespace weft::attention
