// SPDX-License-Identifier: Apache-2.0
// The layer of ETC with projections (Ainslie et al. 2020, "ETC: Encoding Long and Structured Inputs in Transformers",
// sections 3.1 to 3.3; BigBird-ETC, Zaheer et al. 2020, without random blocks): a long input sees a window and all
// global tokens, global tokens see each other and the long input, and a label for each pair adds to its score.
#pragma once

#include <cstdint>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/attention/mechanisms/etc/etc_rows.h"
#include "weft/layers/linear.h"

namespace weft::testing {

struct GlobalLocalConfig {
  std::int64_t hidden_size = 768;
  std::int64_t heads = 12;
  std::int64_t head_dim = 64;        ///< the heads need not fill the width
  std::int64_t radius = 84;          ///< a long token sees that many tokens to each side
  std::int64_t max_distance = 12;    ///< farther ones have the label of this distance
  bool shared_projections = true;    ///< one query, key and value projection for both inputs
  bool shared_output = false;        ///< one output projection for both inputs
  bool hard_global_to_long = false;  ///< a global token sees the tokens of its own sentence or paragraph alone
  bool hard_long_to_global = false;  ///< a long token sees the global tokens of its own sentence and paragraph alone
  double dropout = 0.0;              ///< of the probabilities, while training
};

using attention::EtcStructure;

/// Rows of both inputs: long [B, N, hidden], global [B, G, hidden].
struct GlobalLocalRows {
  at::Tensor tokens;
  at::Tensor globals;
};

/// For a query i and a key j with label l(i, j) the score is
///   (q_i . k_j + q_i . E[l] + b[l]) / sqrt(D),
/// with E [labels, H, D] and b [labels, H], tables of their own for long rows and for global rows. A long row has one
/// softmax over its window and the global tokens, a global row one over the global tokens and the long input. Long rows
/// are computed in blocks of the radius: time and memory grow with N (radius + G).
class GlobalLocalAttentionImpl : public torch::nn::Module {
 public:
  /// Storage only, but for the label tables: E normal(0, 0.5), b zeros. Errors: kArgument for sizes below 1.
  GlobalLocalAttentionImpl(const GlobalLocalConfig& config, const at::TensorOptions& options);

  /// N and G at least 1. Padding is seen by nobody, whatever it holds, and its rows are zeros; so are rows without an
  /// edge before the output projection. Sums are in float32 for half types. `seed`: of dropout.
  /// Errors: kArgument for other shapes and dtypes.
  GlobalLocalRows forward(const GlobalLocalRows& x, const EtcStructure& structure = {}, const DropoutSeed& seed = {});

  layers::Linear query_key_value{nullptr};         ///< hidden -> 3 H D
  layers::Linear global_query_key_value{nullptr};  ///< without shared_projections
  layers::Linear output{nullptr};                  ///< H D -> hidden
  layers::Linear global_output{nullptr};           ///< without shared_output
  at::Tensor labels;                               ///< E of long rows [labels, H, D]
  at::Tensor label_bias;                           ///< b of long rows [labels, H]
  at::Tensor global_labels;                        ///< of global rows
  at::Tensor global_label_bias;

 private:
  GlobalLocalConfig config_;
};
TORCH_MODULE(GlobalLocalAttention);

}  // namespace weft::testing
