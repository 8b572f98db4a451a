// SPDX-License-Identifier: Apache-2.0
// The operator: attention over a block layout, differentiable, on any device and floating dtype. All models call this.
//   output = softmax(scale * Q K^T + log multiplicity, over the edges of the layout) V   (Vaswani et al. 2017, equation
//   1)
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <ATen/core/Tensor.h>

#include "weft/attention/layout.h"
#include "weft/core/random.h"

namespace weft::attention {

/// Which implementation computed a call. One that is asked for and does not take the call is an error with the reason;
/// kAuto takes the first that does, in the order of the list of backends (docs/recipes/add-a-backend.md).
enum class Path {
  kAuto,      ///< the best one for device, dtype, layout and terms
  kFused,     ///< the fused kernel of the device: on a CPU that of kernels/, float32, bfloat16, float16, 64-key tiles
  kPortable,  ///< LibTorch's matrix products over the layout: every device and dtype, the reference
  kScalar,    ///< the plain kernel of kernels/: CPU, for tests
  kDecode,    ///< one query row against a cache of keys, without autograd; chosen by kAuto only
  /// LibTorch's scaled_dot_product_attention, only where the layout is exactly full or causal. On a CPU numbers that
  /// are not finite keep to the edges: where there are any, the products of kPortable are part of this path.
  kDense,
};

/// "fused", "portable", ...: for logs and benchmark tables.
const char* to_string(Path path) noexcept;

/// A score for each distance, position of the query minus position of the key, that is added to scale * q k: entry
/// `zero + distance` of the row of the head; beyond either end of the row the entry at that end. A causal model has
/// keys before the query only and needs `zero` 0; one that sees both sides, span / 2.
struct DistanceTable {
  at::Tensor scores;      ///< floating [H, span], or [H, 2, span]: the second for pairs of which one is position 0
  std::int64_t zero = 0;  ///< the entry of distance 0; it may lie outside of the row
};

/// Positions of the rows of a permuted sequence (sorted buckets), so that one static layout of whole blocks serves
/// every order: where they are given, a query sees a key along an edge of the layout only where the key's position is
/// at least 0 and `first`, and with `causal` at most the query's. A row that sees nothing is an empty row.
struct RowPositions {
  at::Tensor queries;     ///< int32 [B, H, Q], with 1 for B or H that share them; undefined: rows have no positions
  at::Tensor keys;        ///< int32 [B, H_kv, K], likewise; a negative position hides a key, as padding does for a head
  at::Tensor first;       ///< int32 [B, H, Q], likewise: the lowest position that a query sees; undefined: 0
  bool causal = false;    ///< no key of a later position
  bool not_self = false;  ///< a key at the query's position has the score -1e5 in place of its own (Kitaev et al. 2020)
};

struct AttentionOptions {
  std::optional<double> scale;  ///< 1 / sqrt(head_dim) when absent
  at::Tensor key_keep;          ///< bool [B, K], false marks a padded key; undefined keeps all
  double dropout = 0.0;         ///< on the probabilities, Philox on (seed, batch, head, query, key)
  DropoutSeed seed;
  /// Position bias: floating [H] for ALiBi, where a key d positions away loses slope * d of its score; [2, H] for
  /// BiALiBi, slopes for keys before and behind the query; [3, H] with those for pairs of which one is position 0.
  /// Differentiable. alibi_slopes() has the published ones.
  at::Tensor slopes;
  /// Differentiable. NaN or infinity in an entry counts as such a score. Not together with slopes.
  DistanceTable distances;
  /// Not together with slopes or distances, which are those of places in the tensors.
  RowPositions positions;
  Path path = Path::kAuto;
};

struct AttentionResult {
  /// [B, H, Q, D_v], dtype of query; rows without edges are zero. In memory it is [B, Q, H, D_v], and so are the
  /// gradients, whatever the strides of the inputs: joining the heads is no copy.
  at::Tensor output;
  /// [B, H, Q], float32 (float64 for float64 inputs), -infinity for rows without edges; no gradient. Undefined where
  /// another device than the CPU took the dense path: its operator does not give it.
  at::Tensor log_sum_exp;
  /// What was taken.
  Path path;
  /// The name of the backend whose path it is: "cpu", "portable".
  std::string_view backend = {};
};

/// query [B, H, Q, D], key [B, H_kv, K, D], value [B, H_kv, K, D_v], any strides; H a multiple of H_kv. Accumulates in
/// float32 (float64 for float64). Under autocast the inputs are cast to its dtype, as by scaled_dot_product_attention.
/// NaN or infinity in a key makes the rows NaN that attend to it, in a value its column of them, in a query its row,
/// and nothing else (docs/kernel.md). Errors: kArgument for shapes, dtypes or devices that do not fit, naming both; a
/// second derivative is an error.
AttentionResult attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                          const LayoutPtr& layout, const AttentionOptions& options = {});

/// The slopes of ALiBi (Press, Smith and Lewis 2022, section 3): 2^(-8 i / heads) for i = 1 .. heads where that is a
/// power of two; else those of the power below, then every second one of the power above. float32 [heads].
at::Tensor alibi_slopes(std::int64_t heads);

/// What the oracle asks for its edges: the pattern at a site, for every row of the batch or with a binding a row.
struct OracleSite {
  const pattern::Pattern& pattern;
  const pattern::Site& site;
  std::span<const pattern::RowBinding> rows = {};
};

/// The dense float64 oracle: multiplicity asked for every pair, softmax over all of them. For tests and verification;
/// memory and time grow with Q * K. Takes and returns float64; differentiable.
at::Tensor dense_oracle(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                        const OracleSite& edges, const AttentionOptions& options = {});

}  // namespace weft::attention
