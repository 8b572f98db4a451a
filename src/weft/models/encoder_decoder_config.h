// SPDX-License-Identifier: Apache-2.0
// The configuration of an encoder-decoder: Weft's own (`model_type` "weft"), and those of Hugging Face's families, each
// of which is a set of defaults for the same fields (families/pair_rules.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"
#include "weft/core/own_fields.h"

namespace weft::models {

/// Shape and behaviour; the field list says what each field means. Names are those of BART's config.json where it has
/// one.
struct EncoderDecoderConfig {
  std::int64_t vocab_size = 256;
  std::int64_t decoder_vocab_size = 0;
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
  std::int64_t position_offset = 0;
  std::string norm_position = "post";
  bool normalize_embedding = true;
  bool scale_embedding = false;
  std::string activation_function = "gelu";
  bool attention_bias = true;
  std::vector<std::string> encoder_attention = {"full"};
  std::int64_t encoder_full_until = 0;
  std::vector<std::string> decoder_attention = {"full"};
  std::vector<std::string> cross_attention = {"full"};
  double dropout = 0.0;
  double attention_dropout = 0.0;
  double init_std = 0.02;
  double layer_norm_eps = 1e-5;
  bool share_embeddings = true;
  bool tie_word_embeddings = true;
  std::int64_t pad_token_id = -1;
  std::int64_t bos_token_id = -1;
  std::int64_t eos_token_id = -1;
  std::int64_t decoder_start_token_id = -1;
  std::int64_t loss_chunk_size = 0;
  bool gradient_checkpointing = false;
  std::int64_t alignment_layer = -1;
  std::int64_t alignment_head = 0;
  bool right_to_left = false;
  std::string tokenizer_class = "bytes";

  // Kept beside the field list.
  OwnFields own = {};               ///< fields that its family alone has
  std::string model_type = "weft";  ///< the family: weft, or one of kEncoderDecoderTypes
  /// Members of a Hugging Face config.json that are no fields (num_beams, forced_eos_token_id, ...): a JSON object as
  /// text, which is written back as it was; empty: none.
  std::string other_settings = {};
  /// Where the config was read: files that an expression names lie below.
  std::filesystem::path directory = {};

  /// Ids of the target.
  std::int64_t target_vocab_size() const noexcept { return decoder_vocab_size > 0 ? decoder_vocab_size : vocab_size; }

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    shape_fields(visit);
    attention_fields(visit);
    other_fields(visit);
  }

 private:
  template <typename Visitor>
  static void shape_fields(Visitor&& visit) {
    using C = EncoderDecoderConfig;
    visit(Field{"vocab_size", &C::vocab_size, "number of token ids"}.range(1, 1 << 24));
    visit(
        Field{"decoder_vocab_size", &C::decoder_vocab_size, "token ids of the target; 0 for those of the source"}.range(
            0, 1 << 24));
    visit(Field{"d_model", &C::d_model, "width of the hidden states"}.range(1, 1 << 18));
    visit(Field{"encoder_layers", &C::encoder_layers, "layers of the encoder"}.range(1, 4096));
    visit(Field{"decoder_layers", &C::decoder_layers, "layers of the decoder"}.range(1, 4096));
    visit(Field{"encoder_attention_heads", &C::encoder_attention_heads, "heads of a layer"}.range(1, 4096));
    visit(Field{"decoder_attention_heads", &C::decoder_attention_heads, "heads of a layer"}.range(1, 4096));
    visit(Field{"encoder_ffn_dim", &C::encoder_ffn_dim, "width inside the encoder's feed-forward"}.range(1, 1 << 20));
    visit(Field{"decoder_ffn_dim", &C::decoder_ffn_dim, "width inside the decoder's feed-forward"}.range(1, 1 << 20));
    visit(Field{"max_source_positions", &C::max_source_positions, "tokens of a source"}.range(1, 1 << 24));
    visit(Field{"max_target_positions", &C::max_target_positions, "tokens of a target"}.range(1, 1 << 24));
    visit(Field{"position_embedding", &C::position_embedding,
                "how a token knows its position; sinusoidal_halves has all sines before all cosines, "
                "sinusoidal_counted those of the tokens that are not padding, none leaves it to the attention"}
              .one_of({"learned", "sinusoidal", "sinusoidal_halves", "sinusoidal_counted", "rotary", "none"}));
    visit(
        Field{"position_offset", &C::position_offset, "rows of the learned positions before that of position 0"}.range(
            0, 1 << 16));
    visit(Field{"norm_position", &C::norm_position, "layer norm before (pre) or after (post) a sublayer"}.one_of(
        {"pre", "post"}));
    visit(Field{"normalize_embedding", &C::normalize_embedding, "a layer norm behind the embeddings"});
    visit(Field{"scale_embedding", &C::scale_embedding, "token embeddings times the square root of d_model"});
    visit(Field{"activation_function", &C::activation_function, "activation of the feed-forward"}.one_of(
        {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "relu", "silu", "swish", "swiglu"}));
    visit(Field{"attention_bias", &C::attention_bias, "the projections of attention have biases"});
  }

  template <typename Visitor>
  static void attention_fields(Visitor&& visit) {
    using C = EncoderDecoderConfig;
    visit(Field{"encoder_attention", &C::encoder_attention,
                "mechanism or pattern of the encoder: one, or one a layer; none for the family's own, else full"});
    visit(Field{"encoder_full_until", &C::encoder_full_until,
                "tokens of the longest source that the encoder reads with full attention instead; 0 for none"}
              .range(0, 1 << 24));
    visit(
        Field{"decoder_attention", &C::decoder_attention, "mechanism or pattern of the decoder: one, or one a layer"});
    visit(Field{"cross_attention", &C::cross_attention,
                "mechanism or pattern from target to source: one, or one a layer"});
  }

  template <typename Visitor>
  static void other_fields(Visitor&& visit) {
    using C = EncoderDecoderConfig;
    visit(Field{"dropout", &C::dropout, "dropout on embeddings and sublayer outputs"}.range(0.0, 0.999));
    visit(Field{"attention_dropout", &C::attention_dropout, "dropout on attention probabilities"}.range(0.0, 0.999));
    visit(Field{"init_std", &C::init_std, "standard deviation of initial weights"}.range(0.0, 10.0));
    visit(Field{"layer_norm_eps", &C::layer_norm_eps, "added to the variance in layer norms"}.range(1e-12, 1.0));
    visit(Field{"share_embeddings", &C::share_embeddings, "source and target have one table of token embeddings"});
    visit(Field{"tie_word_embeddings", &C::tie_word_embeddings, "the head uses the target's token embeddings"});
    visit(Field{"pad_token_id", &C::pad_token_id, "id of the padding token; -1 for none"}.range(-1, 1 << 24));
    visit(
        Field{"bos_token_id", &C::bos_token_id, "id of the token that begins a text; -1 for none"}.range(-1, 1 << 24));
    visit(Field{"eos_token_id", &C::eos_token_id, "id of the token that ends a text; -1 for none"}.range(-1, 1 << 24));
    visit(Field{"decoder_start_token_id", &C::decoder_start_token_id,
                "id that the decoder begins with, before the first token of a target; -1 for none"}
              .range(-1, 1 << 24));
    visit(Field{"loss_chunk_size", &C::loss_chunk_size,
                "positions whose logits are in memory at once; 0 lets Weft choose"}
              .at_least(0)
              .since("0.1.0"));
    visit(Field{"gradient_checkpointing", &C::gradient_checkpointing,
                "save memory: compute each layer again in the backward pass"}
              .since("0.1.0"));
    visit(
        Field{"alignment_layer", &C::alignment_layer,
              "layer of the decoder, from 0, with the head of attention to the source that has learned alignments; -1 "
              "for none, or to learn them in the last but one"}
            .range(-1, 4095)
            .since("0.1.0")
            .only_with("task", {"translate", "summarize"})
            .only_with_any({"alignments", "alignment_field"}));
    visit(Field{"alignment_head", &C::alignment_head, "that head, from 0"}
              .range(0, 4095)
              .since("0.1.0")
              .only_with("task", {"translate", "summarize"})
              .only_with_any({"alignments", "alignment_field"}));
    visit(
        Field{"right_to_left", &C::right_to_left, "targets are learned and written from their last token to the first"}
            .since("0.1.0"));
    visit(Field{"tokenizer_class", &C::tokenizer_class, "how text becomes ids"}.one_of(
        {"bytes", "sentencepiece", "huggingface"}));
  }
};

/// Every field's own rule and the rules between fields. Errors: kArgument naming `where` and the fields; those of a
/// mechanism string.
void validate(const EncoderDecoderConfig& config, std::string_view where);

}  // namespace weft::models
