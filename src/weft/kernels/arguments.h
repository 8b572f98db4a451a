// SPDX-License-Identifier: Apache-2.0
// The one argument of every attention kernel: a plain, validated struct over raw memory with named strides. Kernels are
// noexcept on it. No STL container and no Torch here: files compiled for one instruction set include this header.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/parallel.h"
#include "weft/core/random.h"
#include "weft/pattern/layout_view.h"

namespace weft::kernels {

enum class DType : std::uint8_t { kFloat32, kFloat64, kBFloat16, kFloat16 };

/// The widest row of query, key or value that a kernel takes.
inline constexpr std::int64_t kMaximumHeadDim = 256;

/// A [batch, heads, rows, columns] array; the strides count elements and the columns are contiguous.
template <typename Pointer>
struct Array4 {
  Pointer data = nullptr;
  std::int64_t batch_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t row_stride = 0;
};
using Input = Array4<const void*>;
using Output = Array4<void*>;

/// Philox on (seed, batch, head, query, key): the kept entries are scaled by 1 / (1 - probability).
struct Dropout {
  float probability = 0.0F;
  DropoutSeed seed;
  std::uint64_t offset = 0;
};

/// What is added to scores for the distance of two positions: that of the query minus that of the key, so that keys
/// before the query have positive ones. Entry `zero + distance` of the row of the head; beyond either end of the row
/// the entry at that end (the far buckets of T5). ALiBi, BiALiBi (which has the second row: Lee, Han and Shin 2022,
/// LittleBird), relative biases and the logarithm of a soft span are such tables.
struct DistanceTable {
  const void* scores = nullptr;   ///< [H][rows][span], in the dtype of log_sum_exp; null: nothing is added
  std::int64_t rows = 1;          ///< 2: the second row is for pairs of which exactly one position is 0
  std::int64_t span = 0;          ///< positive where there are scores
  std::int64_t zero = 0;          ///< the entry of distance 0; it may lie outside of the row
  std::int64_t query_offset = 0;  ///< position of the first query; keys start at 0
};

/// A second product that is added to the first: Q2 . R[distance], R a row for each distance (Dai et al. 2019, section
/// 3.3, where Q2 is the query with a bias of its own). Entry `zero + distance`; beyond either end the row at that end.
struct RelativeProduct {
  Input query;                    ///< Q2 [B, H, Q, D]; null data: nothing is added
  Input rows;                     ///< R [H, span, D] in the dtype of the call; there is no batch
  std::int64_t span = 0;          ///< positive where there are rows
  std::int64_t zero = 0;          ///< the entry of distance 0; it may lie outside of R
  std::int64_t query_offset = 0;  ///< position of the first query; keys start at 0
};

/// Positions of the rows of a permuted sequence, contiguous. A query sees a key along an edge of the layout where the
/// key's position is at least 0 and `first`, and with `causal` at most the query's own. What another position would
/// hide is no edge: a row that sees nothing is an empty row.
struct RowPositions {
  const std::int32_t* queries = nullptr;  ///< [B, H, Q]; null: rows have no positions
  const std::int32_t* keys = nullptr;     ///< [B, H_kv, K]
  const std::int32_t* first = nullptr;    ///< [B, H, Q]: the lowest position that a query sees; null: 0
  bool causal = false;
  bool not_self = false;  ///< a key at the query's own position has the score kOwnScore in place of its own
};

/// So low that a row attends to its own position only where it sees no other (Kitaev, Kaiser and Levskaya 2020).
inline constexpr float kOwnScore = -1e5F;

/// Shapes: query [B, H, Q, D], key [B, H_kv, K, D], value [B, H_kv, K, D_v], output [B, H, Q, D_v], log_sum_exp [B, H,
/// Q] contiguous. H is a multiple of H_kv (grouped key/value heads).
struct AttentionArguments {
  DType dtype = DType::kFloat32;
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t query_length = 0;
  std::int64_t key_length = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
  double scale = 1.0;
  Input query;
  Input key;
  Input value;
  Output output;
  void* log_sum_exp = nullptr;             ///< float, or double with DType::kFloat64; -infinity for a row without edges
  const std::uint8_t* key_keep = nullptr;  ///< [B, K]: 0 marks a padded key; null keeps all
  pattern::LayoutView layout{};
  Dropout dropout;
  DistanceTable distances;
  RowPositions positions;
  RelativeProduct relative;
};

/// Gradients in the dtype of the forward call. `output`, `log_sum_exp` of AttentionArguments hold the forward's
/// results.
struct AttentionGradients {
  Input output_gradient;  ///< [B, H, Q, D_v]
  Output query_gradient;  ///< [B, H, Q, D]
  Output key_gradient;    ///< [B, H_kv, K, D]
  Output value_gradient;  ///< [B, H_kv, K, D_v]
  /// As DistanceTable::scores, summed over the batch; null: not asked.
  void* distance_gradient = nullptr;
  /// Of RelativeProduct::query, and of its rows: [H][span][D] in the dtype of log_sum_exp, summed over the batch. Null
  /// rows: neither is asked.
  Output relative_query_gradient;
  void* relative_rows_gradient = nullptr;
  pattern::TransposeView transpose{};
};

/// What is wrong with the arguments, as a static string, or null. Front ends turn it into an Error before the call.
const char* validate(const AttentionArguments& arguments) noexcept;

/// Output and log-sum-exp of softmax(scale * Q K^T + log multiplicity) V over the layout (Dao et al. 2022, online
/// softmax).
void attention_forward(const AttentionArguments& arguments, const ParallelFor& parallel) noexcept;

/// Scores are softmax(scale * Q K^T + distances + log multiplicity); the gradient of a table's entry is the sum of dS.
/// The five products dV = P^T dO, dP = dO V^T, dS = P (dP - rowsum(dO O)), dQ = dS K, dK = dS^T Q, block by block.
void attention_backward(const AttentionArguments& arguments, const AttentionGradients& gradients,
                        const ParallelFor& parallel) noexcept;

}  // namespace weft::kernels
