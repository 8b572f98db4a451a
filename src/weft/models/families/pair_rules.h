// SPDX-License-Identifier: Apache-2.0
// What tells encoder-decoders apart, as settings of the two stacks that they share, and the names that their parameters
// and settings have in Hugging Face directories. A family is one value of this struct, which begins as a copy of the
// one that it descends from: a new one is a folder next to bart/ and a row in list.inc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/formats/config_json.h"
#include "weft/layers/block_config.h"
#include "weft/models/blueprint.h"
#include "weft/models/encoder/passes.h"
#include "weft/models/encoder_decoder_config.h"
#include "weft/models/families/families.h"
#include "weft/models/families/field_name.h"
#include "weft/models/families/json/pair_json.h"
#include "weft/models/families/name_rows.h"
#include "weft/models/weight_map.h"
#include "weft/text/pair/pair_tokenizer.h"

namespace weft::models {

// What families without a rule of their own do.
void accept_pair(const EncoderDecoderConfig& config, std::string_view where);
std::string full_source(const EncoderDecoderConfig& config, const EncoderOptions& options, std::int64_t layer);
layers::SelfAttentionFactory plain_source(const EncoderDecoderConfig& config, const EncoderOptions& options,
                                          bool replaced);
PassSettings one_source_pass(const EncoderDecoderConfig& config, const EncoderOptions& options);
/// The stacks that the fields describe.
StackConfig source_stack(const EncoderDecoderConfig& config, const EncoderOptions& options);
StackConfig target_stack(const EncoderDecoderConfig& config);
NamedTensors no_constants(const EncoderDecoderConfig& config, const at::TensorOptions& options);
std::unique_ptr<text::PairTokenizer> load_two_sides(const EncoderDecoderConfig& config,
                                                    const std::filesystem::path& directory);
const text::Tokenizer* no_one_tokenizer(const text::PairTokenizer& tokenizer);
void keep_own_fields(EncoderDecoderConfig& config);
std::vector<NameRow> no_more_names(const EncoderDecoderConfig& config);
std::int64_t shared_columns(const EncoderDecoderConfig& config);
double unscaled(const EncoderDecoderConfig& config);

struct PairRules {
  std::string_view class_name;             ///< of `transformers`: "MarianMTModel"
  std::string_view base_class;             ///< the same without a head: "MarianModel"
  std::string_view base_prefix = "model";  ///< of the tensors below the head: "model" of model.encoder.layers...
  /// What transformers takes where config.json is silent. Its model_type is that of all configs of the family.
  EncoderDecoderConfig defaults;
  std::vector<FieldName> fields;         ///< that all pairs share and config.json has
  std::vector<SecondName> second_names;  ///< further names that `transformers` has for them
  /// The first row that fits a parameter counts. Without any, tensors are called as parameters are (Weft's own).
  std::vector<NameRow> names;
  /// Rows that come before those, which depend on the config.
  std::vector<NameRow> (*more_names)(const EncoderDecoderConfig& config) = no_more_names;
  /// Beginnings of tensors, below the prefix, that some files have and nothing reads.
  std::vector<std::string_view> idle_names = {"encoder.version", "decoder.version"};
  bool has_head_bias = true;  ///< files have final_logits_bias

  /// Rules of the family beyond check_fields(). Errors: kArgument naming `where`.
  void (*check)(const EncoderDecoderConfig& config, std::string_view where) = accept_pair;
  /// The pattern of a layer of the encoder, where neither the config nor the options name one.
  std::string (*encoder_attention)(const EncoderDecoderConfig& config, const EncoderOptions& options,
                                   std::int64_t layer) = full_source;
  /// What builds the self-attention of such a layer, where that does more than layers::SelfAttention.
  layers::SelfAttentionFactory (*encoder_layer)(const EncoderDecoderConfig& config, const EncoderOptions& options,
                                                bool replaced) = plain_source;
  /// Columns of a head; 0: those of d_model are shared among the heads.
  std::int64_t (*head_size)(const EncoderDecoderConfig& config) = shared_columns;
  StackConfig (*encoder)(const EncoderDecoderConfig& config, const EncoderOptions& options) = source_stack;
  StackConfig (*decoder)(const EncoderDecoderConfig& config) = target_stack;
  /// PairBlueprint::score_scale.
  double (*score_scale)(const EncoderDecoderConfig& config) = unscaled;
  /// How a batch goes through the encoder.
  PassSettings (*passes)(const EncoderDecoderConfig& config, const EncoderOptions& options) = one_source_pass;
  /// Tensors of a file that belong to no parameter, by their names below the prefix.
  NamedTensors (*constants)(const EncoderDecoderConfig& config, const at::TensorOptions& options) = no_constants;
  /// The tokeniser of a directory of the family. Errors: as text::load_pair_tokenizer and text::load_tokenizer.
  std::unique_ptr<text::PairTokenizer> (*load_tokenizer)(const EncoderDecoderConfig& config,
                                                         const std::filesystem::path& directory) = load_two_sides;
  /// The one tokeniser that such a directory keeps for both sides; null where it keeps what `tokenizer` is made of.
  const text::Tokenizer* (*one_tokenizer)(const text::PairTokenizer& tokenizer) = no_one_tokenizer;
  /// What the family changes of the config of a model that becomes one of its own (convert_encoder_decoder()); null:
  /// none does. Errors: kArgument for a model that cannot.
  void (*adapt)(EncoderDecoderConfig& config) = nullptr;
  /// Brings own fields that were changed into the form in which they are written.
  void (*complete_own)(EncoderDecoderConfig& config) = keep_own_fields;

  /// config.json both ways. Errors: kFormat, kArgument or kUnsupported naming the file and the field.
  EncoderDecoderConfig (*from_json)(const PairRules& rules, const formats::Json& json,
                                    const std::filesystem::path& directory) = pair_fields_from_json;
  formats::Json (*to_json)(const PairRules& rules, const EncoderDecoderConfig& config,
                           at::ScalarType dtype) = pair_fields_to_json;

  /// What config.json calls a field that all pairs share; empty: the family has not got it.
  std::string_view name_of(std::string_view field) const;
  /// Whether the family has the field, one that all share or its own.
  bool has_field(std::string_view field) const;
  /// Whether its directories have Weft's own form: tensors are called as parameters are.
  bool is_own() const noexcept { return names.empty(); }
  /// The rows of a config: more_names and names.
  std::vector<NameRow> rows_of(const EncoderDecoderConfig& config) const;
  /// What a file has before the names below the head: "model.", or nothing.
  std::string prefix() const;
  /// Whether config.json has one number of positions for both sides.
  bool has_one_length() const;
};

/// Those that `weft init` makes, in the order of list.inc.
std::vector<const Family*> pair_families();
/// The rules of the family whose configs have that model_type, one of those or Weft's own. Errors: kArgument naming
/// those there are.
const PairRules& pair_rules(std::string_view model_type);
inline const PairRules& pair_rules(const EncoderDecoderConfig& config) { return pair_rules(config.model_type); }

/// The names of families that have the field, in a sentence: "led", "bart and led".
std::string pairs_with(std::string_view field);

/// The whole plan of a validated config.
PairBlueprint blueprint(const EncoderDecoderConfig& config, const EncoderOptions& options);

/// The mechanism that replaces the family's own in a layer of the encoder; empty: none does.
std::string replacing_attention(const EncoderDecoderConfig& config, const EncoderOptions& options, std::int64_t layer);

/// The config that a model with these options has. Errors: kArgument for options that the family has not got.
EncoderDecoderConfig with_options(const EncoderDecoderConfig& config, const EncoderOptions& options);

}  // namespace weft::models
