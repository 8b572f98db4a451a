// SPDX-License-Identifier: Apache-2.0
// The configuration of the published encoder families: BERT, RoBERTa, Longformer, BigBird, Nystromformer, LittleBird,
// ETC and Star-Transformer, with the field names of their config.json. One struct serves all: a family is a set of
// defaults and of rules (families/family.h). A Reformer's layers are described by the config of Weft's own models
// instead, which this one holds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"
#include "weft/models/encoder_types.h"
#include "weft/models/transformer_config.h"

namespace weft::models {

/// What stands on top of an encoder.
enum class Head {
  kNone,                    ///< the bare encoder: last hidden states, and pooled ones where the family has them
  kMaskedLanguageModel,     ///< logits [B, N, vocab]
  kSequenceClassification,  ///< logits [B, labels]
  kTokenClassification,     ///< logits [B, N, labels]
  kQuestionAnswering,       ///< start and end logits [B, N]
  kMultipleChoice,          ///< logits [B, choices]
};

/// "none", "masked-lm", "sequence-classification", ...: for flags and messages.
std::string_view to_string(Head head) noexcept;
/// The head of that name. Errors: kArgument naming those there are.
Head parse_head(std::string_view name);

/// Shape and behaviour of an encoder; the field list says what each field means. Fields that a family does not have
/// keep their defaults and are not written for it.
struct EncoderConfig {
  std::string model_type = "bert";  ///< one of kEncoderTypes, or that of a family with a `body`
  std::int64_t vocab_size = 30522;
  std::int64_t hidden_size = 768;
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
  std::int64_t attention_head_size = 32;  ///< of star_transformer
  std::int64_t intermediate_size = 3072;
  std::int64_t max_position_embeddings = 512;
  std::int64_t type_vocab_size = 2;
  std::int64_t pad_token_id = 0;
  std::int64_t sep_token_id = 102;
  std::int64_t bos_token_id = -1;  ///< -1: the config names none
  std::int64_t eos_token_id = -1;  ///< -1: the config names none
  std::string hidden_act = "gelu";
  double layer_norm_eps = 1e-12;
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  double classifier_dropout = -1.0;
  double initializer_range = 0.02;
  bool tie_word_embeddings = true;
  std::vector<std::int64_t> attention_window = {512};
  std::string attention_type = "block_sparse";
  std::int64_t block_size = 64;
  std::int64_t num_random_blocks = 3;
  bool use_bias = true;
  bool rescale_embeddings = false;
  std::int64_t num_landmarks = 64;
  std::int64_t segment_means_seq_len = 64;
  std::int64_t conv_kernel_size = 65;  ///< -1: there is no convolution
  bool inv_coeff_init_option = false;
  std::int64_t num_latents = 64;
  std::int64_t global_vocab_size = 8;
  std::int64_t local_radius = 84;
  std::int64_t relative_pos_max_distance = 12;
  std::string hard_edges = "none";
  std::vector<std::int64_t> sentence_end_ids = {};
  std::vector<std::int64_t> paragraph_end_ids = {};
  std::int64_t max_global_tokens = 512;
  std::string position_embedding_type = "absolute";
  std::vector<std::string> attention = {};  ///< empty: the family's own pattern

  // Kept beside the field list, because JSON holds them in forms of their own.
  std::vector<std::string> architectures = {};
  std::vector<std::string> id2label = {"LABEL_0", "LABEL_1"};  ///< names of the labels, in the order of their ids
  std::string problem_type = {};  ///< regression, single_label_classification, multi_label_classification; empty: guess
  /// Where the config was read: files that `attention` names lie below; empty is the working directory.
  std::filesystem::path directory = {};
  /// The stack, where the family is one of Weft's own models with another head (reformer): sizes and dropout above are
  /// copies of its own. `attention` above comes before that of the body.
  std::optional<TransformerConfig> body = {};
  bool with_pooler = true;  ///< false: a file without one, under a head that does not read it; not in config.json

  /// Labels of a classification head.
  std::int64_t num_labels() const noexcept { return static_cast<std::int64_t>(id2label.size()); }
  /// The id of a label's name, or nothing.
  std::optional<std::int64_t> label2id(std::string_view label) const;
  /// Columns of a head.
  std::int64_t head_dim() const noexcept { return hidden_size / num_attention_heads; }
  /// Columns of the last hidden states.
  std::int64_t output_size() const { return body ? body->output_size() : hidden_size; }
  bool has_position_table() const noexcept { return position_embedding_type == "absolute"; }
  /// Longest input in tokens: RoBERTa and Longformer keep the first rows of their position table for padding.
  std::int64_t maximum_length() const;
  /// Longformer's window of a layer, in tokens over both sides.
  std::int64_t attention_window_of(std::int64_t layer) const {
    return attention_window.size() == 1 ? attention_window.front()
                                        : attention_window.at(static_cast<std::size_t>(layer));
  }
  /// The head that `architectures` names; kNone when there is no entry. Errors: kUnsupported for a name that Weft does
  /// not have, naming `where` it stands and those that there are.
  Head head(const std::string& where = "architectures") const;

  /// Those of nystromformer.
  template <typename Visitor>
  static void landmark_fields(Visitor&& visit) {
    using C = EncoderConfig;
    visit(Field{"num_landmarks", &C::num_landmarks, "landmarks of a layer (nystromformer)"}.range(1, 4096));
    visit(Field{"segment_means_seq_len", &C::segment_means_seq_len,
                "tokens that transformers makes landmarks of, or num_landmarks for softmax over all pairs "
                "(nystromformer)"}
              .range(1, 1 << 24));
    visit(Field{"conv_kernel_size", &C::conv_kernel_size,
                "length of the convolution over the values, an odd number; -1 for none (nystromformer)"}
              .range(-1, 1023));
    visit(Field{"inv_coeff_init_option", &C::inv_coeff_init_option,
                "the first guess of the inverse is scaled for each head (nystromformer)"});
  }
  /// Those of etc.
  template <typename Visitor>
  static void global_token_fields(Visitor&& visit) {
    using C = EncoderConfig;
    visit(Field{"global_vocab_size", &C::global_vocab_size, "kinds of global tokens (etc)"}.range(7, 1 << 24));
    visit(Field{"local_radius", &C::local_radius, "tokens of the text that a token sees on each side (etc)"}.range(
        1, 1 << 16));
    visit(Field{"relative_pos_max_distance", &C::relative_pos_max_distance,
                "distances up to this one have labels of their own (etc)"}
              .range(1, 1024));
    visit(
        Field{"hard_edges", &C::hard_edges,
              "global tokens see their own sentence alone (g2l), tokens see their own global tokens alone (l2g), both "
              "or none (etc)"}
            .one_of({"none", "g2l", "l2g", "both"}));
    visit(Field{"sentence_end_ids", &C::sentence_end_ids,
                "token ids that end a sentence; each sentence has a global token (etc)"});
    visit(Field{"paragraph_end_ids", &C::paragraph_end_ids,
                "token ids that end a paragraph; each paragraph has a global token, where there are such ids (etc)"});
    visit(Field{"max_global_tokens", &C::max_global_tokens,
                "most global tokens of a text; sentences beyond belong to the last one (etc)"}
              .range(2, 1 << 16));
  }
  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = EncoderConfig;
    visit(Field{"model_type", &C::model_type, "family"});
    visit(Field{"vocab_size", &C::vocab_size, "number of token ids"}.range(1, 1 << 24));
    visit(Field{"hidden_size", &C::hidden_size, "width of the hidden states"}.range(1, 1 << 18));
    visit(Field{"num_hidden_layers", &C::num_hidden_layers, "number of layers"}.range(0, 4096));
    visit(Field{"num_attention_heads", &C::num_attention_heads, "attention heads of a layer"}.range(1, 4096));
    visit(Field{"attention_head_size", &C::attention_head_size,
                "columns of a head; the heads need not fill the width (star_transformer)"}
              .range(1, 1 << 16));
    visit(Field{"intermediate_size", &C::intermediate_size,
                "width inside the feed-forward (star_transformer: inside its classifiers)"}
              .range(1, 1 << 20));
    visit(Field{"max_position_embeddings", &C::max_position_embeddings, "positions that the model has an embedding for"}
              .range(1, 1 << 24));
    visit(Field{"type_vocab_size", &C::type_vocab_size, "number of token types"}.range(1, 1 << 16));
    visit(Field{"pad_token_id", &C::pad_token_id, "id of the padding token; -1 for none"}.range(-1, 1 << 24));
    visit(Field{"sep_token_id", &C::sep_token_id, "id of the token between question and text (longformer, big_bird)"}
              .range(-1, 1 << 24));
    visit(
        Field{"bos_token_id", &C::bos_token_id, "id of the token that begins a text; -1 for none"}.range(-1, 1 << 24));
    visit(Field{"eos_token_id", &C::eos_token_id, "id of the token that ends a text; -1 for none"}.range(-1, 1 << 24));
    visit(Field{"hidden_act", &C::hidden_act, "activation of the feed-forward"}.one_of(
        {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "relu", "silu", "swish"}));
    visit(Field{"layer_norm_eps", &C::layer_norm_eps, "added to the variance in layer norms"}.range(0.0, 1.0));
    visit(Field{"hidden_dropout_prob", &C::hidden_dropout_prob, "dropout on embeddings and sublayer outputs"}.range(
        0.0, 0.999));
    visit(Field{"attention_probs_dropout_prob", &C::attention_probs_dropout_prob, "dropout on attention probabilities"}
              .range(0.0, 0.999));
    visit(
        Field{"classifier_dropout", &C::classifier_dropout, "dropout in the head; -1 for that of the sublayers"}.range(
            -1.0, 0.999));
    visit(Field{"initializer_range", &C::initializer_range, "standard deviation of initial weights"}.range(0.0, 10.0));
    visit(Field{"tie_word_embeddings", &C::tie_word_embeddings, "the head uses the token embeddings"});
    visit(Field{"attention_window", &C::attention_window,
                "tokens of the window, half of them on each side: one number, or one for each layer (longformer)"});
    visit(Field{"attention_type", &C::attention_type, "sparse or full attention (big_bird)"}.one_of(
        {"block_sparse", "original_full"}));
    visit(Field{"block_size", &C::block_size, "tokens in a block (big_bird, littlebird)"}.range(1, 1 << 16));
    visit(Field{"num_random_blocks", &C::num_random_blocks,
                "random blocks that each block of queries attends to (big_bird)"}
              .range(0, 1 << 16));
    visit(Field{"use_bias", &C::use_bias, "query, key and value projections have a bias (big_bird)"});
    visit(Field{"rescale_embeddings", &C::rescale_embeddings,
                "multiply token embeddings by the square root of the width (big_bird)"});
    landmark_fields(visit);
    visit(
        Field{"num_latents", &C::num_latents, "rows that each layer packs the text into (littlebird)"}.range(1, 4096));
    global_token_fields(visit);
    visit(
        Field{"position_embedding_type", &C::position_embedding_type,
              "absolute: each position has an embedding; none: attention alone knows positions (bert, littlebird, etc)"}
            .one_of({"absolute", "none"}));
    visit(Field{"attention", &C::attention,
                "mechanism or pattern to use instead of the family's: one, or one for each layer"});
  }
};

/// The class of `transformers` for a family and a head, as `architectures` names it: "BertForMaskedLM".
std::string architecture_name(std::string_view model_type, Head head);

/// The published base size of a family, with its token ids and dropout. Errors: kArgument for another name.
EncoderConfig base_config(std::string_view model_type);

/// Every field's own rule and the rules between fields. Errors: kArgument naming `where` (a file or flag group) and the
/// fields.
void validate(const EncoderConfig& config, std::string_view where);

}  // namespace weft::models
