// SPDX-License-Identifier: Apache-2.0
// The configuration of an encoder-decoder: two stacks, what they share, and the ids that frame a text. The one field
// list gives JSON, command-line flags, help, defaults and validation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"

namespace weft::models {

/// Shape and behaviour; the field list says what each field means. Names are those of BART's config.json where it has
/// one.
struct EncoderDecoderConfig {
  std::int64_t vocab_size = 256;
  std::int64_t d_model = 256;
  std::int64_t encoder_layers = 6;
  std::int64_t decoder_layers = 6;
  std::int64_t encoder_attention_heads = 4;
  std::int64_t decoder_attention_heads = 4;
  std::int64_t encoder_ffn_dim = 1024;
  std::int64_t decoder_ffn_dim = 1024;
  std::int64_t max_source_positions = 1024;
  std::int64_t max_target_positions = 1024;
  std::string position_embedding = "learned";
  std::string norm_position = "post";
  bool normalize_embedding = true;
  bool scale_embedding = false;
  std::string activation_function = "gelu";
  std::vector<std::string> encoder_attention = {"full"};
  std::vector<std::string> decoder_attention = {"full"};
  std::vector<std::string> cross_attention = {"full"};
  double dropout = 0.0;
  double attention_dropout = 0.0;
  double init_std = 0.02;
  double layer_norm_eps = 1e-5;
  bool share_embeddings = true;
  bool tie_word_embeddings = true;
  std::int64_t pad_token_id = -1;
  std::int64_t decoder_start_token_id = -1;
  std::int64_t eos_token_id = -1;
  std::int64_t loss_chunk_size = 0;
  bool gradient_checkpointing = false;
  /// Where the config was read, no field of it: files that an expression names lie below.
  std::filesystem::path directory = {};

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = EncoderDecoderConfig;
    visit(Field{"vocab_size", &C::vocab_size, "number of token ids"}.range(1, 1 << 24));
    visit(Field{"d_model", &C::d_model, "width of the hidden states"}.range(1, 1 << 18));
    visit(Field{"encoder_layers", &C::encoder_layers, "layers of the encoder"}.range(1, 4096));
    visit(Field{"decoder_layers", &C::decoder_layers, "layers of the decoder"}.range(1, 4096));
    visit(Field{"encoder_attention_heads", &C::encoder_attention_heads, "heads of a layer"}.range(1, 4096));
    visit(Field{"decoder_attention_heads", &C::decoder_attention_heads, "heads of a layer"}.range(1, 4096));
    visit(Field{"encoder_ffn_dim", &C::encoder_ffn_dim, "width inside the encoder's feed-forward"}.range(1, 1 << 20));
    visit(Field{"decoder_ffn_dim", &C::decoder_ffn_dim, "width inside the decoder's feed-forward"}.range(1, 1 << 20));
    visit(Field{"max_source_positions", &C::max_source_positions, "tokens of a source"}.range(1, 1 << 24));
    visit(Field{"max_target_positions", &C::max_target_positions, "tokens of a target"}.range(1, 1 << 24));
    visit(Field{"position_embedding", &C::position_embedding, "how a token knows its position"}.one_of(
        {"learned", "sinusoidal", "rotary"}));
    visit(Field{"norm_position", &C::norm_position, "layer norm before (pre) or after (post) a sublayer"}.one_of(
        {"pre", "post"}));
    visit(Field{"normalize_embedding", &C::normalize_embedding, "a layer norm behind the embeddings"});
    visit(Field{"scale_embedding", &C::scale_embedding, "token embeddings times sqrt(d_model)"});
    visit(Field{"activation_function", &C::activation_function, "activation of the feed-forward"}.one_of(
        {"gelu", "gelu_new", "relu", "silu", "swiglu"}));
    visit(
        Field{"encoder_attention", &C::encoder_attention, "mechanism or pattern of the encoder: one, or one a layer"});
    visit(
        Field{"decoder_attention", &C::decoder_attention, "mechanism or pattern of the decoder: one, or one a layer"});
    visit(Field{"cross_attention", &C::cross_attention,
                "mechanism or pattern from target to source: one, or one a layer"});
    visit(Field{"dropout", &C::dropout, "dropout on embeddings and sublayer outputs"}.range(0.0, 0.999));
    visit(Field{"attention_dropout", &C::attention_dropout, "dropout on attention probabilities"}.range(0.0, 0.999));
    visit(Field{"init_std", &C::init_std, "standard deviation of initial weights"}.range(0.0, 10.0));
    visit(Field{"layer_norm_eps", &C::layer_norm_eps, "added to the variance in layer norms"}.range(1e-12, 1.0));
    visit(Field{"share_embeddings", &C::share_embeddings, "source and target have one table of token embeddings"});
    visit(Field{"tie_word_embeddings", &C::tie_word_embeddings, "the head uses the target's token embeddings"});
    visit(Field{"pad_token_id", &C::pad_token_id, "id of the padding token; -1 for none"}.range(-1, 1 << 24));
    visit(Field{"decoder_start_token_id", &C::decoder_start_token_id,
                "id that a target begins behind; -1 where the caller decides"}
              .range(-1, 1 << 24));
    visit(Field{"eos_token_id", &C::eos_token_id, "id that ends a source and a target; -1 where the caller decides"}
              .range(-1, 1 << 24));
    visit(Field{"loss_chunk_size", &C::loss_chunk_size,
                "positions whose logits are in memory at once; 0 lets Weft choose"}
              .at_least(0));
    visit(Field{"gradient_checkpointing", &C::gradient_checkpointing,
                "save memory: compute each layer again in the backward pass"});
  }
};

/// Every field's own rule and the rules between fields. Errors: kArgument naming `where` and the fields; those of a
/// mechanism string.
void validate(const EncoderDecoderConfig& config, std::string_view where);

}  // namespace weft::models
