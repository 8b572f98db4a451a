// SPDX-License-Identifier: Apache-2.0
// The configuration of an encoder with a head for a task: the fields that all families share, with the names of their
// config.json, and those of one family (families/<name>/).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"
#include "weft/core/own_fields.h"
#include "weft/formats/config_json.h"
#include "weft/models/family_names.h"

namespace weft::models {

/// What stands on top of an encoder.
enum class Head {
  kNone,                    ///< the bare encoder: last hidden states, and pooled ones where the family has them
  kMaskedLanguageModel,     ///< logits [B, N, vocab]
  kSequenceClassification,  ///< logits [B, labels]
  kTokenClassification,     ///< logits [B, N, labels]
  kQuestionAnswering,       ///< start and end logits [B, N]
  kMultipleChoice,          ///< logits [B, choices]
  kReplacedTokens,          ///< logits [B, N]: above 0 where a token seems to stand in place of another (ELECTRA)
};

/// "none", "masked-lm", "sequence-classification", ...: for flags and messages.
std::string_view to_string(Head head) noexcept;
/// All of them, in the order of Head.
std::vector<std::string_view> head_names();
/// The head of that name. Errors: kArgument naming those there are.
Head parse_head(std::string_view name);
/// Whether what it says has a place for each token of a row; elsewhere it is about the whole row.
bool is_about_tokens(Head head) noexcept;
/// Whether it scores labels, which the config names.
bool has_labels(Head head) noexcept;

/// Shape and behaviour of an encoder; the field list says what each field means. Fields that a family does not have
/// keep their defaults and are not written for it.
struct EncoderConfig {
  std::string model_type{kEncoderTypes.front()};  ///< name of the family (families/list.inc)
  std::int64_t vocab_size = 30522;
  std::int64_t hidden_size = 768;
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
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
  std::string position_embedding_type = "absolute";
  std::vector<std::string> attention = {};  ///< empty: the family's own pattern
  OwnFields own = {};                       ///< those of the family alone

  // Kept beside the field list, because JSON holds them in forms of their own.
  std::vector<std::string> architectures = {};
  std::vector<std::string> id2label = {"LABEL_0", "LABEL_1"};  ///< names of the labels, in the order of their ids
  std::string problem_type = {};  ///< regression, single_label_classification, multi_label_classification; empty: guess
  /// Where the config was read: files that `attention` names lie below; empty is the working directory.
  std::filesystem::path directory = {};
  std::size_t layout = 0;   ///< of the names in the file that is read, see layout_of(); not in config.json
  bool with_pooler = true;  ///< false: a file without one, under a head that does not read it; not in config.json

  /// Labels of a classification head.
  std::int64_t num_labels() const noexcept { return static_cast<std::int64_t>(id2label.size()); }
  /// The id of a label's name, or nothing.
  std::optional<std::int64_t> label2id(std::string_view label) const;
  /// Columns of a head.
  std::int64_t head_dim() const noexcept { return hidden_size / num_attention_heads; }
  /// Columns of the last hidden states.
  std::int64_t output_size() const;
  /// Whether the embeddings know positions; otherwise attention alone does.
  bool has_position_table() const;
  /// Longest input in tokens: some families keep the first rows of their position table for padding.
  std::int64_t maximum_length() const;
  /// The head that `architectures` names; kNone when there is no entry. Errors: kUnsupported for a name that Weft does
  /// not have, naming `where` it stands and those that there are.
  Head head(const std::string& where = "architectures") const;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = EncoderConfig;
    visit(Field{"model_type", &C::model_type, "family"});
    visit(Field{"vocab_size", &C::vocab_size, "number of token ids"}.range(1, 1 << 24));
    visit(Field{"hidden_size", &C::hidden_size, "width of the hidden states"}.range(1, 1 << 18));
    visit(Field{"num_hidden_layers", &C::num_hidden_layers, "number of layers"}.range(0, 4096));
    visit(Field{"num_attention_heads", &C::num_attention_heads, "attention heads of a layer"}.range(1, 4096));
    visit(Field{"intermediate_size", &C::intermediate_size,
                "width inside the feed-forward, or inside the classifiers of a family without one"}
              .range(1, 1 << 20));
    visit(Field{"max_position_embeddings", &C::max_position_embeddings, "positions that the model has an embedding for"}
              .range(1, 1 << 24));
    visit(Field{"type_vocab_size", &C::type_vocab_size,
                "number of token types; some families may have 0, and then pass over those of a text"}
              .range(0, 1 << 16));
    visit(Field{"pad_token_id", &C::pad_token_id, "id of the padding token; -1 for none"}.range(-1, 1 << 24));
    visit(Field{"sep_token_id", &C::sep_token_id, "id of the token between question and text"}.range(-1, 1 << 24));
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
    visit(Field{"position_embedding_type", &C::position_embedding_type,
                "absolute: each position has an embedding; none: attention alone knows positions"}
              .one_of({"absolute", "none"}));
    visit(Field{"attention", &C::attention,
                "mechanism or pattern to use instead of the family's: one, or one for each layer"});
  }
};

/// The class of `transformers` for a family and a head, as `architectures` names it: "BertForMaskedLM".
std::string architecture_name(std::string_view model_type, Head head);

/// The published base size of a family, with its token ids and dropout. Errors: kArgument for another name.
EncoderConfig base_config(std::string_view model_type);

/// Lays the fields that `json` names over those of the config, those of the family among them; unknown ones are passed
/// over. Errors: kFormat and kArgument naming `where` and the field; the config is unchanged then.
void update_fields(EncoderConfig& config, const formats::Json& json, std::string_view where);

/// Every field's own rule and the rules between fields. Errors: kArgument naming `where` (a file or flag group) and the
/// fields.
void validate(const EncoderConfig& config, std::string_view where);

}  // namespace weft::models
