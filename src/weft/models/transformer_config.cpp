// SPDX-License-Identifier: Apache-2.0
// The rules between the fields of a TransformerConfig, and the stack that it describes.
#include "weft/models/transformer_config.h"

#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/models/families/causal_variant.h"
#include "weft/models/stack/stack_config.h"

namespace weft::models {
namespace {

void check_heads(const TransformerConfig& config, std::string_view where) {
  require(config.attention_head_size > 0 || config.hidden_size % config.num_attention_heads == 0, where,
          ": hidden_size ", config.hidden_size, " is not divisible by num_attention_heads ",
          config.num_attention_heads);
  require(config.num_attention_heads % config.key_value_heads() == 0, where, ": num_attention_heads ",
          config.num_attention_heads, " is not a multiple of num_key_value_heads ", config.key_value_heads());
  const bool rotary = config.position_embedding == "rotary";
  require(!rotary || config.head_dim() % 2 == 0, where,
          ": rotary position_embedding needs an even head dimension, but hidden_size / ", "num_attention_heads is ",
          config.head_dim());
  require(!config.learned_slopes || config.position_embedding == "alibi", where,
          ": learned_slopes are those of alibi positions, but position_embedding is ", config.position_embedding);
}

// The rectangle nearest to a square whose rows are a power of two long.
std::pair<std::int64_t, std::int64_t> near_square(std::int64_t positions) {
  std::int64_t columns = 1;
  while (columns * columns < positions) {
    columns *= 2;
  }
  return {(positions + columns - 1) / columns, columns};
}

/// Of a config whose axial fields are empty or have two entries.
layers::AxialShape axial_shape(const TransformerConfig& config) {
  layers::AxialShape shape;
  if (config.axial_pos_shape.empty()) {
    std::tie(shape.rows, shape.columns) = near_square(config.max_position_embeddings);
  } else {
    shape.rows = config.axial_pos_shape[0];
    shape.columns = config.axial_pos_shape[1];
  }
  const bool given = !config.axial_pos_embds_dim.empty();
  shape.row_width = given ? config.axial_pos_embds_dim[0] : config.hidden_size / 4;
  shape.column_width = given ? config.axial_pos_embds_dim[1] : config.hidden_size - config.hidden_size / 4;
  return shape;
}

void check_pair(const std::vector<std::int64_t>& values, std::int64_t most, std::string_view field,
                std::string_view where) {
  require(values.empty() || values.size() == 2, where, ": ", field, " must have two numbers, found ", values.size());
  for (const std::int64_t value : values) {
    require(value >= 1 && value <= most, where, ": ", field, " must hold numbers from 1 to ", most, ", found ", value);
  }
}

void check_axial(const TransformerConfig& config, std::string_view where) {
  constexpr std::int64_t kMostRows = 1 << 24;
  const bool given = !config.axial_pos_shape.empty() || !config.axial_pos_embds_dim.empty();
  const bool axial = config.position_embedding == "axial";
  require(axial || !given, where, ": ", config.axial_pos_shape.empty() ? "axial_pos_embds_dim" : "axial_pos_shape",
          " is for axial positions, but position_embedding is ", config.position_embedding);
  if (!axial) {
    return;
  }
  check_pair(config.axial_pos_shape, kMostRows, "axial_pos_shape", where);
  check_pair(config.axial_pos_embds_dim, config.hidden_size, "axial_pos_embds_dim", where);
  const layers::AxialShape shape = axial_shape(config);
  require(shape.row_width > 0 && shape.row_width + shape.column_width == config.hidden_size, where,
          ": axial_pos_embds_dim ", shape.row_width, " and ", shape.column_width,
          " must be above 0 and together hidden_size ", config.hidden_size);
  require(shape.length() >= config.max_position_embeddings, where, ": axial_pos_shape ", shape.rows, " x ",
          shape.columns, " holds ", shape.length(), " positions, fewer than max_position_embeddings ",
          config.max_position_embeddings);
}

/// Of a config whose position_stride is in range.
layers::GridSides stride_sides(const TransformerConfig& config) {
  const std::int64_t columns =
      config.position_stride > 0 ? config.position_stride : near_square(config.max_position_embeddings).second;
  return {(config.max_position_embeddings + columns - 1) / columns, columns, 0};
}

void check_stride(const TransformerConfig& config, std::string_view where) {
  require(config.position_stride == 0 || config.position_embedding == "stride", where,
          ": position_stride is for stride positions, but position_embedding is ", config.position_embedding);
  require(config.position_stride <= config.max_position_embeddings, where, ": position_stride ", config.position_stride,
          " must be at most max_position_embeddings ", config.max_position_embeddings);
}

void check_residual(const TransformerConfig& config, std::string_view where) {
  if (!config.is_reversible()) {
    return;
  }
  require(config.norm_position == "pre", where,
          ": residual reversible needs norm_position pre, because a norm behind the sum cannot be undone");
  require(
      !config.gradient_checkpointing, where,
      ": gradient_checkpointing is for plain residual connections: reversible ones compute each layer again anyway");
  require(!config.span_boundary_objective || config.tie_word_embeddings, where,
          ": span_boundary_objective with residual reversible needs tie_word_embeddings");
  require(!config.adaptive_vocabulary() || config.tie_word_embeddings, where,
          ": vocabulary_cutoffs with residual reversible need tie_word_embeddings");
}

void check_attention(const TransformerConfig& config, std::string_view where) {
  const auto count = static_cast<std::int64_t>(config.attention.size());
  require(count == 1 || count == config.num_hidden_layers, where,
          ": attention must list one mechanism, or one for each of ", config.num_hidden_layers, " layers, found ",
          count);
  check_mechanisms(stack_config(config), where);
}

void check_vocabulary(const TransformerConfig& config, std::string_view where) {
  require(config.vocabulary_division == 1 || !config.vocabulary_cutoffs.empty(), where, ": vocabulary_division ",
          config.vocabulary_division, " is for a vocabulary in clusters, but there are no vocabulary_cutoffs");
  if (const auto adaptive = config.adaptive_vocabulary()) {
    require(config.is_decoder, where, ": a vocabulary in clusters (vocabulary_cutoffs, variant transformer-xl) is for ",
            "decoders, but is_decoder is false");
    check_clusters(*adaptive, where);
  }
  variant_of(config).check(config, where);
}

void check_picture(const TransformerConfig& config, std::string_view where) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 26;
  const std::vector<std::int64_t>& shape = config.picture_shape;
  if (shape.empty()) {
    require(config.position_embedding != "picture", where,
            ": position_embedding picture is for models of pictures, but picture_shape is empty");
    return;
  }
  const auto sides = joined(shape, " x ", [](std::int64_t side) { return std::to_string(side); });
  std::int64_t bytes = shape.size() == 3 ? 1 : 0;
  for (const std::int64_t side : shape) {
    bytes = side >= 1 && side <= kMostBytes && bytes <= kMostBytes / side ? bytes * side : 0;
  }
  require(bytes >= 1, where, ": picture_shape must be rows, columns and channels of at most ", kMostBytes,
          " bytes, found ", Quoted(sides));
  require(config.is_decoder && config.memory_length == 0, where,
          ": picture_shape is for decoders without a memory, found is_decoder ", config.is_decoder ? "true" : "false",
          ", memory_length ", config.memory_length);
  require(config.vocab_size >= 257, where,
          ": vocab_size must be at least 257 with a picture_shape (bytes and the begin of a picture), found ",
          config.vocab_size);
  require(config.max_position_embeddings == bytes, where, ": max_position_embeddings must be the ", bytes,
          " bytes of a picture of ", sides, ", found ", config.max_position_embeddings);
}

layers::BlockConfig causal_block(const TransformerConfig& config, std::int64_t layer) {
  layers::BlockConfig block;
  block.layer = layer;
  block.hidden_size = config.hidden_size;
  block.heads = config.num_attention_heads;
  block.key_value_heads = config.key_value_heads();
  block.head_size = config.attention_head_size;
  block.intermediate_size = config.feed_forward_size();
  block.feed_forward_chunk = config.chunk_size_feed_forward;
  block.maximum_length = config.max_position_embeddings;
  block.attention = config.attention_of(layer);
  block.qkv_bias = block.output_bias = config.attention_bias;
  block.activation = config.hidden_act;
  block.causal = config.is_decoder;
  block.alibi = config.position_embedding == "alibi";
  block.learned_slopes = config.learned_slopes;
  block.norm_first = config.norm_position == "pre";
  block.norm.epsilon = config.layer_norm_eps;
  block.rope_theta = config.position_embedding == "rotary" ? config.rope_theta : 0.0;
  block.dropout = config.hidden_dropout_prob;
  block.attention_dropout = config.attention_probs_dropout_prob;
  block.directory = config.directory;
  if (config.compressed_memory_length > 0) {
    block.compression = layers::CompressionConfig{config.compression, config.compression_rate};
  }
  return block;
}

layers::EmbeddingsConfig causal_embeddings(const TransformerConfig& config) {
  layers::EmbeddingsConfig embeddings;
  embeddings.vocab_size = config.vocab_size;
  embeddings.hidden_size = config.hidden_size;
  embeddings.maximum_length = config.max_position_embeddings;
  if (config.norm_position == "post") {
    embeddings.norm = layers::NormConfig{.epsilon = config.layer_norm_eps};
  }
  embeddings.dropout = config.hidden_dropout_prob;
  embeddings.adaptive = config.adaptive_vocabulary();
  if (config.position_embedding == "learned") {
    embeddings.positions = layers::PositionKind::kLearned;
  } else if (config.position_embedding == "axial") {
    embeddings.positions = layers::PositionKind::kAxial;
    embeddings.axial = axial_shape(config);
  } else if (config.position_embedding == "picture") {
    embeddings.positions = layers::PositionKind::kPicture;
    embeddings.grid = {config.picture_shape[0], config.picture_shape[1], config.picture_shape[2]};
  } else if (config.position_embedding == "stride") {
    embeddings.positions = layers::PositionKind::kStride;
    embeddings.grid = stride_sides(config);
  } else if (config.position_embedding == "sinusoidal") {
    embeddings.positions = layers::PositionKind::kSinusoidal;
    // Embeddings are drawn small: the factor brings them nearer to the waves.
    embeddings.token_scale = std::sqrt(static_cast<double>(config.hidden_size));
  }
  return embeddings;
}

}  // namespace

std::optional<layers::AdaptiveConfig> TransformerConfig::adaptive_vocabulary() const {
  return variant_of(*this).vocabulary(*this);
}

StackConfig stack_config(const TransformerConfig& config) {
  StackConfig stack;
  stack.embeddings = causal_embeddings(config);
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    stack.blocks.push_back(causal_block(config, layer));
  }
  if (config.is_reversible()) {
    stack.residual = config.joins_streams() ? Residual::kStreamsJoined : Residual::kStreamsMean;
  }
  stack.length_field = config.position_embedding == "axial" ? "axial_pos_shape" : "max_position_embeddings";
  if (config.norm_position == "pre") {
    stack.last_norm = layers::NormConfig{.epsilon = config.layer_norm_eps};
  }
  variant_of(config).shape(config, stack);
  return stack;
}

std::optional<std::int64_t> position_limit(const TransformerConfig& config) {
  if (config.position_embedding == "axial") {
    return axial_shape(config).length();
  }
  const bool learned = config.position_embedding == "learned" || config.position_embedding == "picture" ||
                       config.position_embedding == "stride";
  return learned ? std::optional(config.max_position_embeddings) : std::nullopt;
}

std::optional<std::int64_t> context_limit(const TransformerConfig& config) {
  std::optional<std::int64_t> limit = position_limit(config);
  for (std::int64_t layer = 0; layer < config.num_hidden_layers && !limit; ++layer) {
    if (attention::parse_mechanism(config.attention_of(layer), config.directory).has_longest_text) {
      limit = config.max_position_embeddings;
    }
  }
  return limit;
}

void check_context(const TransformerConfig& config, std::int64_t context) {
  const std::optional<std::int64_t> limit = context_limit(config);
  const char* const field = config.position_embedding == "axial" ? "axial_pos_shape" : "max_position_embeddings";
  require(!limit || context <= *limit, "context must be at most ", limit.value_or(0), ": for so many tokens (", field,
          ") the model learns positions, or its attention learns sums over them; found ", context);
}

void check_memory(const TransformerConfig& config, std::string_view where) {
  require(config.is_decoder, where, ": memory_length is for decoders, but is_decoder is false");
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string& expression = config.attention_of(layer);
    require(attention::parse_mechanism(expression, config.directory).keeps_memory, where, ": attention of layer ",
            layer, ": `", expression,
            "` cannot go on behind a memory, because a segment does not know its place in the text; ",
            "`relative`, `span` and patterns of window, stride and causal can, as they know distances alone");
  }
  require(
      config.position_embedding == "none" || config.position_embedding == "alibi", where,
      ": memory_length needs position_embedding none or alibi, because rows of a memory have no other place in the ",
      "text, found ", config.position_embedding);
}

void validate(const TransformerConfig& config, std::string_view where) {
  check_fields(config, where);
  check_heads(config, where);
  check_axial(config, where);
  check_residual(config, where);
  require(config.tokenizer_class != "bytes" || config.vocab_size >= 256, where,
          ": vocab_size must be at least 256 with tokenizer_class bytes, found ", config.vocab_size);
  check_picture(config, where);
  check_stride(config, where);
  require(config.initialization != "fan_in" || !config.tie_word_embeddings, where,
          ": initialization fan_in begins with a head of 0, which cannot be the token embeddings, but ",
          "tie_word_embeddings is true");
  require(!config.span_boundary_objective || !config.is_decoder, where,
          ": span_boundary_objective is for encoders, but is_decoder is true");
  check_vocabulary(config, where);
  check_attention(config, where);
  if (config.memory_length > 0) {
    check_memory(config, where);
  }
  require(config.compressed_memory_length == 0 || config.memory_length > 0, where,
          ": compressed_memory_length is for what leaves a memory, but memory_length is 0");
}

}  // namespace weft::models
