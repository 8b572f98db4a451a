// SPDX-License-Identifier: Apache-2.0
// From token ids to the first hidden states: token embedding, learned or sinusoidal positions, token types where a
// model has them, and in post-norm models a layer norm.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/core/random.h"
#include "weft/layers/adaptive/embeddings.h"
#include "weft/layers/axial_positions.h"
#include "weft/layers/grid_positions.h"
#include "weft/layers/inference/int8_weight.h"
#include "weft/layers/linear.h"
#include "weft/layers/norm.h"

namespace weft::layers {

/// How a token's place enters the hidden states.
enum class PositionKind {
  kNone,              ///< nothing is added here: rotary positions act in the attention
  kLearned,           ///< a table of max_position_embeddings rows (Devlin et al. 2019)
  kSinusoidal,        ///< fixed waves (Vaswani et al. 2017, section 3.5); they have amplitude 1, so `token_scale` is
                      ///< sqrt(hidden)
  kAxial,             ///< two tables, one of rows and one of columns (axial_positions.h)
  kPicture,           ///< learned tables of a picture's rows, columns and channels (grid_positions.h)
  kStride,            ///< the same of a text in rows as long as a stride, which has no channels
  kSinusoidalHalves,  ///< the same waves, all sines before all cosines (Junczys-Dowmunt et al. 2018, as released)
  kCountedWaves,      ///< counted_waves() of the tokens that are not padding (Fan et al. 2021, as released)
};

/// Shape of the tables and what is added to a token; validated by the model's config.
struct EmbeddingsConfig {
  std::int64_t vocab_size = 256;
  std::int64_t hidden_size = 256;  ///< columns of the tables
  std::int64_t output_size = 0;    ///< columns that come out, through a linear layer where they are others; 0: the same
  bool projects_first = false;     ///< that layer is in front of the norm, and has no bias
  std::int64_t maximum_length = 4096;
  PositionKind positions = PositionKind::kNone;
  AxialShape axial = {};                ///< of axial positions
  GridSides grid = {};                  ///< of positions in a picture, or in rows of a stride
  std::optional<NormConfig> norm = {};  ///< absent: there is none
  double dropout = 0.0;
  bool dropout_before_norm = false;  ///< as in BigBird; everybody else drops behind the norm
  std::int64_t token_types = 0;      ///< rows of the table of token types (Devlin et al. 2019); 0: there is none
  std::int64_t padding_id = -1;      ///< its row of the token table has no gradient; -1: no such row
  bool skip_padding = false;  ///< learned positions count the tokens that are not padding, from padding_id + 1 on, and
                              ///< padding has row padding_id (Liu et al. 2019)
  std::int64_t position_offset = 0;  ///< rows of the learned positions before that of position 0
  double token_scale = 1.0;          ///< of the token embeddings
  std::int64_t masked_id = -1;  ///< rows of that token are 0, and the others of its text larger (Lin et al. 2023, as
                                ///< released); -1: no such token
  bool shares_tokens = false;   ///< the token table comes with each call
  std::optional<AdaptiveConfig> adaptive = {};  ///< tokens have a vocabulary in clusters in place of one table

  /// Columns that come out.
  std::int64_t width() const noexcept { return output_size > 0 ? output_size : hidden_size; }
};

/// One call.
struct EmbeddingsInput {
  at::Tensor ids;                   ///< int64 [B, N]
  std::int64_t first_position = 0;  ///< of the first column; the others follow
  DropoutSeed seed;                 ///< the call's, for dropout
  at::Tensor token_types = {};      ///< int64 [B, N]; undefined: all 0
  TokenTable shared_tokens = {};    ///< [vocab, hidden], where the config shares them
  at::Tensor keep = {};             ///< bool [B, N], false is padding, for a config with masked_id; undefined: all kept
};

/// x = project(dropout(norm(E[id] + T[type] + P[position]))); norm and projection where the config has them, the
/// projection first where it says so.
class EmbeddingsImpl : public torch::nn::Module, public KeepsInt8 {
 public:
  EmbeddingsImpl(const EmbeddingsConfig& config, const at::TensorOptions& options);
  /// -> [B, N, hidden]. Ids, types and positions have been checked against their tables.
  at::Tensor forward(const EmbeddingsInput& input);

  /// The tokens as they are stored; empty where they are shared or in clusters.
  TokenTable table() const { return {tokens, int8_tokens_}; }
  std::string int8_parameter() const override { return "tokens"; }
  at::Tensor floating() const override { return tokens; }
  std::shared_ptr<const Int8Weight> kept() const override { return int8_tokens_; }
  void keep_int8(std::shared_ptr<const Int8Weight> weight) override;

  at::Tensor tokens;                     ///< [vocab, hidden] unless shared, in clusters or int8
  at::Tensor positions;                  ///< [position_offset + maximum_length, hidden] when learned
  at::Tensor token_types;                ///< [token types, hidden] where there are any
  AdaptiveEmbeddings clusters{nullptr};  ///< named `tokens`, where the vocabulary is in clusters
  AxialPositions axial{nullptr};         ///< where positions are axial
  Norm norm{nullptr};
  Linear project{nullptr};      ///< from the width of the tables to another one
  GridPositions grid{nullptr};  ///< named `picture_positions` or `stride_positions`, where positions are of a grid

 private:
  /// The sum of the tables' rows.
  at::Tensor rows_of(const EmbeddingsInput& input);
  at::Tensor with_positions(const at::Tensor& hidden, const EmbeddingsInput& input);

  EmbeddingsConfig config_;
  at::ScalarType dtype_;  // of the rows that int8 gives
  std::shared_ptr<const Int8Weight> int8_tokens_;
};
TORCH_MODULE(Embeddings);

/// RoBERTa's positions [B, N]: the k-th token of a row that is not padding has padding_id + k, behind `before` tokens
/// padding_id + before + k; padding has padding_id.
at::Tensor positions_without_padding(const at::Tensor& ids, std::int64_t padding_id, std::int64_t before = 0);

/// Waves [B, N, width] of such positions: sin(p / 10000^(i / (width / 2 - 1))) for i from 0, then the cosines, and 0
/// for padding. In float32, as fairseq computes them. The width is at least 4; behind an odd one stands a 0.
at::Tensor counted_waves(const at::Tensor& positions, std::int64_t padding_id, std::int64_t width,
                         const at::TensorOptions& options);

}  // namespace weft::layers
