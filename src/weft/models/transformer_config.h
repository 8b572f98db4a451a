// SPDX-License-Identifier: Apache-2.0
// The configuration of Weft's own model family (`model_type` "weft"): a decoder for causal or an encoder for masked
// language modelling. The one field list gives JSON, command-line flags, help, defaults and validation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/layers/adaptive/config.h"

namespace weft::models {

/// Shape, attention and training-time behaviour of a model; the field list below says what each field means. Names are
/// those of Hugging Face configs where these have one.
struct TransformerConfig {
  std::int64_t vocab_size = 256;
  std::int64_t hidden_size = 256;
  std::int64_t num_hidden_layers = 6;
  std::int64_t num_attention_heads = 4;
  std::int64_t num_key_value_heads = 0;
  std::int64_t attention_head_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t max_position_embeddings = 4096;
  std::string position_embedding = "rotary";
  bool learned_slopes = false;
  std::vector<std::int64_t> axial_pos_shape = {};
  std::vector<std::int64_t> axial_pos_embds_dim = {};
  std::string residual = "plain";
  std::vector<std::int64_t> picture_shape = {};
  std::int64_t position_stride = 0;
  std::string norm_position = "pre";
  std::string hidden_act = "gelu";
  std::vector<std::string> attention = {"full"};
  bool attention_bias = true;
  bool is_decoder = true;
  double hidden_dropout_prob = 0.0;
  double attention_probs_dropout_prob = 0.0;
  std::string initialization = "normal";
  double initializer_range = 0.02;
  bool tie_word_embeddings = true;
  bool lm_head_bias = false;
  bool span_boundary_objective = false;
  double layer_norm_eps = 1e-5;
  double rope_theta = 10000.0;
  std::int64_t memory_length = 0;
  std::int64_t compressed_memory_length = 0;
  std::string compression = "convolution";
  std::int64_t compression_rate = 3;
  std::vector<std::int64_t> vocabulary_cutoffs = {};
  std::int64_t vocabulary_division = 1;
  std::string variant = "weft";
  std::int64_t chunk_size_feed_forward = 0;
  std::int64_t loss_chunk_size = 0;
  bool gradient_checkpointing = false;
  std::string tokenizer_class = "bytes";
  /// Where the config was read, no field of it: files that `attention` names lie below; empty is the working directory.
  std::filesystem::path directory = {};

  /// Columns of a head.
  std::int64_t head_dim() const noexcept {
    return attention_head_size == 0 ? hidden_size / num_attention_heads : attention_head_size;
  }
  /// Heads of keys and values, the default resolved (Ainslie et al. 2023, grouped queries).
  std::int64_t key_value_heads() const noexcept {
    return num_key_value_heads == 0 ? num_attention_heads : num_key_value_heads;
  }
  /// Width inside the feed-forward, the default resolved.
  std::int64_t feed_forward_size() const noexcept {
    return intermediate_size == 0 ? 4 * hidden_size : intermediate_size;
  }
  /// The clusters of the vocabulary, where it has any.
  std::optional<layers::AdaptiveConfig> adaptive_vocabulary() const;
  /// Whether residual connections have two streams.
  bool is_reversible() const { return residual == "reversible"; }
  /// Whether both streams go to the head, beside each other. A head that is the token table has no columns for that: it
  /// sees their mean.
  bool joins_streams() const { return is_reversible() && !tie_word_embeddings; }
  /// Columns that the head sees.
  std::int64_t output_size() const { return hidden_size * (joins_streams() ? 2 : 1); }
  /// The mechanism string of a layer.
  const std::string& attention_of(std::int64_t layer) const {
    return attention.size() == 1 ? attention.front() : attention.at(static_cast<std::size_t>(layer));
  }

  /// visit(Field) for each field, in the order in which a config is written (transformer_fields.h).
  template <typename Visitor>
  static void fields(Visitor&& visit);
};

/// Tokens that have a position, where the positions are learned; none where a text may be longer.
std::optional<std::int64_t> position_limit(const TransformerConfig& config);

/// The same, also where an attention learns sums over the positions. Reads the mechanisms' strings and their files.
std::optional<std::int64_t> context_limit(const TransformerConfig& config);

/// Errors: kArgument where windows of `context` tokens are longer than context_limit().
void check_context(const TransformerConfig& config, std::int64_t context);

/// Errors: kArgument naming `where` where the model of `config` cannot go on behind a memory, and why.
void check_memory(const TransformerConfig& config, std::string_view where);

/// Every field's own rule and the rules between fields. Errors: kArgument naming `where` (a file or flag group) and the
/// fields.
void validate(const TransformerConfig& config, std::string_view where);

}  // namespace weft::models

#include "weft/models/transformer_fields.h"  // TransformerConfig::fields
