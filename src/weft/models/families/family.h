// SPDX-License-Identifier: Apache-2.0
// What tells the encoder families apart, as settings of layers that they share, and the names that their parameters and
// settings have in Hugging Face directories. A family is one value of this struct: a new one is a file next to bert.cpp
// and a row in the table of family.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/layers/block_config.h"
#include "weft/models/encoder_config.h"
#include "weft/models/encoder_model.h"
#include "weft/models/families/name_rows.h"

namespace weft::models {

/// What a classification head reads.
enum class Classifier {
  kPooled,      ///< the pooled first token, one projection (BERT)
  kFirstToken,  ///< the first token itself, a dense layer with activation, then the projection (RoBERTa)
  kRelay,  ///< half the sum of the relay and each column's largest number, two layers; tags have them, too (fastNLP)
};

/// The rows below the heads, which all families have, and those of `own`.
std::vector<NameRow> with_encoder_names(std::vector<NameRow> own);

// What families without a rule of their own do.
void check_nothing(const EncoderConfig& config, std::string_view where);
std::string full_attention(const EncoderConfig& config, const EncoderOptions& options, std::int64_t layer);
layers::SelfAttentionFactory plain_layer(const EncoderConfig& config, const EncoderOptions& options, bool replaced);
std::int64_t never_full(const EncoderConfig& config, const EncoderOptions& options);
bool every_head(Head head);
std::string no_remark(const EncoderConfig& config);
at::Tensor no_globals(const EncoderConfig& config, Head head, const at::Tensor& ids, const at::Tensor& places);

struct EncoderFamily {
  std::string_view model_type;   ///< in config.json
  std::string_view class_name;   ///< "Bert" of BertForMaskedLM
  std::string_view base_prefix;  ///< of the encoder's tensors beside a head: "bert" of bert.embeddings...
  std::vector<NameRow> names;    ///< the first row that fits a parameter counts
  std::vector<std::string_view> head_prefixes;     ///< that the tensors of all heads begin with
  std::vector<std::string_view> own_fields;        ///< fields of config.json that only some families have, this one too
  std::vector<std::string_view> attention_fields;  ///< those of own_fields that another attention leaves without effect

  EncoderConfig base;                ///< published base size
  EncoderConfig defaults;            ///< what transformers takes where config.json is silent
  bool skip_padding = false;         ///< positions count what is not padding, see layers::EmbeddingsConfig
  std::int64_t position_offset = 0;  ///< rows of the position table beyond max_position_embeddings, before position 0
  bool may_lack_positions = false;   ///< position_embedding_type may be none
  bool dropout_before_norm = false;  ///< in the embeddings
  bool zeroes_padding = false;       ///< padded rows of attention are zeros in transformers too: pad_like_hf is idle
  bool drops_by_classifier = true;   ///< has classifier_dropout; otherwise hidden_dropout_prob everywhere
  bool hidden_act_in_heads = true;   ///< heads use hidden_act; otherwise gelu (masked-lm) and tanh (classes)
  bool dense_vocabulary = true;      ///< the masked-lm head has a dense layer and a norm before the product
  bool deep_answers = false;         ///< question answering has a feed-forward of its own, and hides the question
  bool has_global_tokens = false;    ///< tokens beside the text, which its attention knows (etc)
  bool is_star = false;              ///< satellites and a relay in place of transformer blocks
  bool relu_pooler = false;          ///< what choices are scored from goes through relu and no dropout
  Classifier classifier = Classifier::kPooled;

  /// Whether `transformers` has the family with this head.
  bool (*has_head)(Head head) = every_head;
  /// Whether `transformers` gives the encoder under this head a pooler.
  bool (*has_pooler)(Head head) = nullptr;
  /// Rules of the family beyond check_fields(). Errors: kArgument naming `where`.
  void (*check)(const EncoderConfig& config, std::string_view where) = check_nothing;
  /// The pattern of a layer, where neither the config nor the options name one.
  std::string (*attention)(const EncoderConfig& config, const EncoderOptions& options,
                           std::int64_t layer) = full_attention;
  /// What builds the self-attention of a layer, where that does more than layers::SelfAttention. `replaced`: the layer
  /// has another pattern than the family's.
  layers::SelfAttentionFactory (*self_attention)(const EncoderConfig& config, const EncoderOptions& options,
                                                 bool replaced) = plain_layer;
  /// The longest input, in tokens of a row, that is computed with full attention instead; -1: none is.
  std::int64_t (*full_until)(const EncoderConfig& config, const EncoderOptions& options) = never_full;
  /// Why every input is computed with full attention, though the family's own is another; empty: it is not.
  std::string (*always_full)(const EncoderConfig& config) = no_remark;
  /// Global positions [B, N] (nonzero) of a call that names none, or undefined. ids int64 [B, N]; multiple choice: one
  /// row a choice. places int64 [B, 2] as EncoderInput::pair_places, or undefined.
  at::Tensor (*globals)(const EncoderConfig& config, Head head, const at::Tensor& ids,
                        const at::Tensor& places) = no_globals;
};

/// Those that a config of their own describes, all of its fields: `weft init` makes them.
std::span<const EncoderFamily* const> encoder_families();

/// The family of that name, one of those or the Reformer. Errors: kArgument naming those there are.
const EncoderFamily& find_family(std::string_view model_type);

const EncoderFamily& bert_family();
const EncoderFamily& roberta_family();
const EncoderFamily& longformer_family();
const EncoderFamily& big_bird_family();
const EncoderFamily& nystromformer_family();
const EncoderFamily& littlebird_family();
const EncoderFamily& etc_family();
const EncoderFamily& star_transformer_family();
const EncoderFamily& reformer_family();

/// A Reformer whose stack is `body`, which reads a text from both sides.
EncoderConfig reformer_config(const TransformerConfig& body);

/// Rows of the config's position table that hold no position.
inline std::int64_t padding_rows(const EncoderFamily& family, const EncoderConfig& config) {
  return family.skip_padding ? config.pad_token_id + 1 : 0;
}

/// The mechanism that replaces the family's own in a layer; empty: none does.
std::string replacing_attention(const EncoderConfig& config, const EncoderOptions& options, std::int64_t layer);

/// The body as the config and the options have its attention. The config has a body.
TransformerConfig body_of(const EncoderConfig& config, const EncoderOptions& options);

/// Whether the head computes from the pooled first token, so that it cannot do without a pooler.
bool reads_pooler(const EncoderFamily& family, Head head);

}  // namespace weft::models
