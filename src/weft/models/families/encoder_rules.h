// SPDX-License-Identifier: Apache-2.0
// What tells the encoder families apart, as settings of layers that they share, and the names that their parameters and
// settings have in Hugging Face directories. A family is one value of this struct, which begins as a copy of the one
// that it descends from: a new one is a folder next to bert/ and a row in list.inc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/layers/etc/sentence_structure.h"
#include "weft/models/blueprint.h"
#include "weft/models/encoder_config.h"
#include "weft/models/families/encoder_parts.h"
#include "weft/models/families/families.h"
#include "weft/models/families/field_name.h"
#include "weft/models/families/json/encoder_json.h"
#include "weft/models/families/name_rows.h"

namespace weft::text {
class HuggingFaceTokenizer;
}

namespace weft::models {

struct EncoderBatch;

/// The names in which some files have the tensors of a family.
struct NameLayout {
  std::string_view base_prefix;
  std::vector<NameRow> names;
  bool is_written = true;  ///< a model that was read from such names is written with them; else with the family's own
};

struct EncoderRules {
  std::string_view class_name;   ///< "Bert" of BertForMaskedLM
  std::string_view base_prefix;  ///< of the encoder's tensors beside a head: "bert" of bert.embeddings...
  std::vector<NameRow> names;    ///< the first row that fits a parameter counts
  /// Other names that files have for the same tensors.
  std::vector<NameLayout> other_layouts;
  std::vector<std::string_view> head_prefixes;  ///< that the tensors of all heads begin with
  /// What tensors begin with, behind the prefix, that files have and nobody reads; "#" is a layer's number.
  std::vector<std::string_view> idle_names = {"embeddings.position_ids", "embeddings.token_type_ids", "pooler.",
                                              "cls.seq_relationship."};
  /// Fields that all encoders share, where config.json calls them otherwise or has not got them.
  std::vector<FieldName> fields = {{"sep_token_id", {}}, {"position_embedding_type", {}}};
  std::string_view positions_by = "absolute";                 ///< what config.json may have at position_embedding_type
  std::string_view own_fields_after = "tie_word_embeddings";  ///< where the fields of EncoderConfig::own are written
  std::vector<std::string_view> attention_fields;  ///< own fields that another attention leaves without effect

  EncoderConfig base;      ///< published base size, with the family's own fields
  EncoderConfig defaults;  ///< what transformers takes where config.json is silent
  std::vector<Head> heads = {Head::kNone,
                             Head::kMaskedLanguageModel,
                             Head::kSequenceClassification,
                             Head::kTokenClassification,
                             Head::kQuestionAnswering,
                             Head::kMultipleChoice};  ///< that `transformers` has
  /// The head that a class "...ForPreTraining" has, beside others that nobody here reads.
  Head pretrained_head = Head::kMaskedLanguageModel;
  std::vector<Head> pooled_heads;  ///< under which it gives the encoder a pooler

  /// Rules of the family beyond those of its fields; whose heads share the hidden columns begins with check_heads().
  /// Errors: kArgument naming `where`.
  void (*check)(const EncoderConfig& config, std::string_view where) = check_heads;
  layers::EmbeddingsConfig (*embeddings)(const EncoderConfig& config) = bert_embeddings;
  /// Heads of keys and values, which queries share; null: each head has its own.
  std::int64_t (*key_value_heads)(const EncoderConfig& config) = nullptr;
  /// The pattern of a layer, where neither the config nor the options name one.
  std::string (*attention)(const EncoderConfig& config, const EncoderOptions& options,
                           std::int64_t layer) = full_attention;
  /// What builds the self-attention of a layer, where that does more than layers::SelfAttention. `replaced`: the layer
  /// has another pattern than the family's.
  layers::SelfAttentionFactory (*self_attention)(const EncoderConfig& config, const EncoderOptions& options,
                                                 bool replaced) = plain_layer;
  StackConfig (*stack)(const EncoderConfig& config, const EncoderOptions& options) = transformer_stack;
  HeadPlan (*head)(const EncoderConfig& config) = bert_head;  ///< but for its pooler
  /// How parameters begin, but for the row of the padding id and the seed.
  Initializer (*initializer)(const EncoderConfig& config) = normal_values;
  PassSettings (*passes)(const EncoderConfig& config, const EncoderOptions& options) = one_pass;
  Costs (*costs)(const EncoderConfig& config) = transformer_costs;
  /// Fills in what the family gives a call by itself, where the call has not got it: global positions, token types,
  /// companions. Rows of `batch` are there with their ids, types and mask; multiple choice: one row a choice. places
  /// int64 [rows, 2] as EncoderInput::pair_places, or undefined. Errors: kArgument.
  void (*complete)(EncoderBatch& batch, const EncoderConfig& config, Head head, const EncoderInput& input,
                   const at::Tensor& places) = complete_nothing;
  /// Sentences and paragraphs of ids int64 [R, N] as the companions of its calls have them; keep bool [R, N], or
  /// undefined: all. Null: its calls have no such companions.
  layers::TextStructure (*structure)(const EncoderConfig& config, const at::Tensor& ids,
                                     const at::Tensor& keep) = nullptr;
  /// Own fields that follow from a tokeniser, but those that were `given`; null: none does. Errors: kArgument.
  void (*fit)(EncoderConfig& config, const text::HuggingFaceTokenizer& tokenizer, const formats::Json& given) = nullptr;
  /// What the family changes of the config of a bert or roberta that becomes one of its own (convert_encoder()); null:
  /// none does.
  void (*adapt)(EncoderConfig& config) = nullptr;
  /// Whether a model of the family becomes one for longer texts, or with another attention, by convert_encoder():
  /// nothing that it learned depends on how long a text may be.
  bool lengthens = false;
  /// What a parameter of a model made out of `source` begins with; undefined: its namesake there.
  at::Tensor (*first_value)(const std::string& name, const at::Tensor& target,
                            const EncoderModel& source) = no_first_value;
  /// Whether its layers can start those of an encoder-decoder. Errors: kUnsupported saying why not.
  void (*check_start)(const EncoderConfig& config) = accept_as_start;

  /// config.json both ways, but for labels when it is read, and for the dtype. Errors: kFormat, kArgument or
  /// kUnsupported naming `where` and the field.
  EncoderConfig (*from_json)(const formats::Json& json, std::string_view where,
                             const std::filesystem::path& directory) = encoder_fields_from_json;
  formats::Json (*to_json)(const EncoderConfig& config, Head head) = encoder_fields_to_json;

  /// What config.json calls a field that all encoders share; empty: the family has not got it.
  std::string_view name_of(std::string_view field) const;
  /// Whether the family has the field, one that all share or its own.
  bool has_field(std::string_view field) const;
  bool has_head(Head head) const;
  /// Whether convert_encoder() makes models of the family.
  bool is_made() const noexcept { return adapt != nullptr || lengthens; }
  bool has_pooler(Head head) const;
};

/// Those that `weft init` makes, in the order of list.inc.
std::vector<const Family*> encoder_families();

/// The rules of that family. Errors: kArgument naming those that weft init makes.
const EncoderRules& encoder_rules(std::string_view name);
inline const EncoderRules& encoder_rules(const EncoderConfig& config) { return encoder_rules(config.model_type); }

/// A layout of the family's, which keeps the names.
struct NamesInFile {
  std::string_view base_prefix;
  const std::vector<NameRow>& names;
  bool is_written = true;  ///< NameLayout::is_written
};

/// By EncoderConfig::layout: 0 is the family's own names, those behind it the other ones.
NamesInFile layout_of(const EncoderConfig& config);

/// The names of families that have the field, in the order of list.inc; of those that weft init makes.
std::vector<std::string_view> families_with(std::string_view field);
/// The same for messages: "longformer and etc".
std::string encoders_with(std::string_view field);

/// The family whose own attention is a mechanism of that name (MechanismSpec::name); empty where none is.
std::string_view family_of_attention(std::string_view mechanism);

/// The families that others descend from, whose models become those of a longer one: "bert or roberta".
std::string families_to_start_from();

/// The whole plan of a validated config.
Blueprint blueprint(const EncoderConfig& config, Head head, const EncoderOptions& options);
HeadPlan head_plan(const EncoderConfig& config, Head head);

/// EncoderRules::key_value_heads.
std::int64_t key_value_heads(const EncoderConfig& config);

/// Rows of the config's position table that hold no position.
std::int64_t padding_rows(const EncoderConfig& config);

/// Whether the head computes from the pooled first token, so that it cannot do without a pooler.
bool reads_pooler(const HeadPlan& plan, Head head);

}  // namespace weft::models
