// SPDX-License-Identifier: Apache-2.0
// Weft's own encoder-decoder: whatever the fields say, in directories of Weft's own form.
#include <memory>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/version.h"
#include "weft/models/encoder/block_sparse.h"
#include "weft/models/families/pair_rules.h"
#include "weft/models/families/rows.h"
#include "weft/text/hugging_face.h"
#include "weft/text/tokenizer.h"

namespace weft::models {
namespace {

using formats::Json;

layers::SelfAttentionFactory own_layer(const EncoderDecoderConfig& config, const EncoderOptions& options, bool) {
  const bool full = config.encoder_full_until > 0 && options.attention.empty();
  return full ? short_full_layer(config.encoder_full_until) : layers::SelfAttentionFactory();
}

PassSettings own_passes(const EncoderDecoderConfig& config, const EncoderOptions& options) {
  PassSettings settings = one_source_pass(config, options);
  settings.full_until = config.encoder_full_until > 0 && options.attention.empty() ? config.encoder_full_until : -1;
  return settings;
}

EncoderDecoderConfig own_pair_from_json(const PairRules&, const Json& json, const std::filesystem::path& directory) {
  const std::string where = (directory / "config.json").string();
  EncoderDecoderConfig config;
  formats::update_from_json(config, json, where, {"architectures", "model_type", "is_encoder_decoder", "weft_version"});
  formats::check_complete<EncoderDecoderConfig>(json, where);
  return config;
}

Json own_pair_to_json(const PairRules& rules, const EncoderDecoderConfig& config, at::ScalarType) {
  Json json = {{"architectures", {rules.class_name}},
               {"model_type", weft_encoder_decoder_family().model_type},
               {"is_encoder_decoder", true},
               {"weft_version", kVersion}};
  json.update(formats::to_json(config));
  if (!config.right_to_left) {
    json.erase("right_to_left");  // programs before it know no such member
  }
  return json;
}

/// A text is read as `weft train` did: eos_token_id behind it and nothing before it, whatever frame the tokeniser's
/// files name.
std::unique_ptr<text::PairTokenizer> load_own_tokenizer(const EncoderDecoderConfig& config,
                                                        const std::filesystem::path& directory) {
  require(config.eos_token_id >= 0, Quoted(directory.native(), 4096),
          ": config.json: eos_token_id must be an id, found ", config.eos_token_id);
  std::shared_ptr<const text::Tokenizer> words;
  if (config.tokenizer_class == "huggingface") {
    words = std::make_shared<const text::HuggingFaceTokenizer>(directory);  // and not bytes without its files
  } else {
    words = text::load_tokenizer(directory);
  }
  return text::make_pair_tokenizer(std::move(words), {.behind = {config.eos_token_id}});
}

const text::Tokenizer* source_tokenizer(const text::PairTokenizer& tokenizer) {
  return &tokenizer.side(text::Side::kSource);
}

PairRules own_pair_rules() {
  PairRules rules;
  rules.class_name = "WeftForConditionalGeneration";
  rules.base_prefix = "";
  EncoderDecoderConfig::fields([&](const auto& field) { rules.fields.push_back({field.name, field.name}); });
  rules.encoder_layer = own_layer;
  rules.passes = own_passes;
  rules.load_tokenizer = load_own_tokenizer;
  rules.one_tokenizer = source_tokenizer;
  rules.from_json = own_pair_from_json;
  rules.to_json = own_pair_to_json;
  return rules;
}

}  // namespace

const Family& weft_encoder_decoder_family() {
  static const PairRules rules = own_pair_rules();
  static const Family family{.name = "weft_encoder_decoder", .model_type = "weft_encoder_decoder", .pair = &rules};
  return family;
}

}  // namespace weft::models
