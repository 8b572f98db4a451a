// SPDX-License-Identifier: Apache-2.0
// The rules between the fields of a TransformerConfig.
#include "weft/models/transformer_config.h"

#include "weft/models/block_configs.h"

namespace weft::models {
namespace {

void check_heads(const TransformerConfig& config, std::string_view where) {
  require(config.hidden_size % config.num_attention_heads == 0, where, ": hidden_size ", config.hidden_size,
          " is not divisible by num_attention_heads ", config.num_attention_heads);
  require(config.num_attention_heads % config.key_value_heads() == 0, where, ": num_attention_heads ",
          config.num_attention_heads, " is not a multiple of num_key_value_heads ", config.key_value_heads());
  const bool rotary = config.position_embedding == "rotary";
  require(!rotary || config.head_dim() % 2 == 0, where,
          ": rotary position_embedding needs an even head dimension, but hidden_size / ", "num_attention_heads is ",
          config.head_dim());
}

void check_attention(const TransformerConfig& config, std::string_view where) {
  const auto count = static_cast<std::int64_t>(config.attention.size());
  require(count == 1 || count == config.num_hidden_layers, where,
          ": attention must list one mechanism, or one for each of ", config.num_hidden_layers, " layers, found ",
          count);
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    try {
      // Building it is the check: what does not parse, or does not fit heads and layer, throws here and not in
      // training.
      attention::make_attention(config.attention_of(layer), layers::site_of(block_config(config, layer)));
    } catch (const Error& error) {
      throw Error(error.kind(), concat(where, ": attention of layer ", layer, ": ", error.what()), error.hint());
    }
  }
}

}  // namespace

void validate(const TransformerConfig& config, std::string_view where) {
  check_fields(config, where);
  check_heads(config, where);
  require(config.tokenizer_class != "bytes" || config.vocab_size >= 256, where,
          ": vocab_size must be at least 256 with tokenizer_class bytes, found ", config.vocab_size);
  require(!config.span_boundary_objective || !config.is_decoder, where,
          ": span_boundary_objective is for encoders, but is_decoder is true");
  check_attention(config, where);
}

}  // namespace weft::models
