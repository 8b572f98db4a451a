// SPDX-License-Identifier: Apache-2.0
// What the layers of a model attend to, in words: before a run and of a model that is there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/layers/block_config.h"
#include "weft/models/encoder_decoder_config.h"
#include "weft/models/transformer_config.h"

namespace weft::tasks {

/// Edges over pairs. Long sequences are estimated from a sample of their rows.
struct Density {
  double share = 0;
  bool estimated = false;
  friend bool operator==(const Density&, const Density&) = default;
};

/// Neighbouring layers with the same attention.
struct AttentionSummary {
  std::int64_t first_layer = 0;
  std::int64_t last_layer = 0;
  std::string expression;          ///< as configured, in canonical form where it is a pattern
  std::string effective;           ///< what is computed: a decoder's pattern is cut to the past
  std::optional<Density> density;  ///< at `length`; absent for what is no pattern, needs `input` or takes long to count
  std::optional<double> flops;     ///< of a layer forwards over one text of that length; absent for a pattern
  std::optional<double> share_of_full;  ///< `flops` over those of full attention
  std::string caution;                  ///< what a user should know of the mechanism's settings; empty: nothing
};

/// Of an encoder-decoder, at the longest source and target. The cross-attention has neither density nor operations.
struct PairAttentionSummary {
  std::vector<AttentionSummary> encoder;
  std::vector<AttentionSummary> decoder;
  std::vector<AttentionSummary> cross;
};

/// Errors: kExpression for a mechanism string that does not parse or does not fit.
std::vector<AttentionSummary> summarize_attention(const models::TransformerConfig& config, std::int64_t length);
/// The same of the blocks of a stack.
std::vector<AttentionSummary> summarize_attention(const std::vector<layers::BlockConfig>& blocks, std::int64_t length);
PairAttentionSummary summarize_attention(const models::EncoderDecoderConfig& config);

/// "layer 3" or "layers 0-5".
std::string layer_range(const AttentionSummary& summary);

/// A list with {"layers": [first, last], "expression", "effective", "density", "flops"} for each summary, of which
/// density and flops may be null, and "note" where the settings ask for one.
formats::Json attention_json(const std::vector<AttentionSummary>& summaries);

}  // namespace weft::tasks
