// SPDX-License-Identifier: Apache-2.0
// The table of encoder-decoders, and what families share.
#include "weft/models/families/pair_rules.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/models/families/replaced_fields.h"
#include "weft/models/family_names.h"

namespace weft::models {

std::string_view PairRules::name_of(std::string_view field) const {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const FieldName& known) { return known.weft == field; });
  return found == fields.end() ? std::string_view() : found->hugging_face;
}

bool PairRules::has_field(std::string_view field) const { return !name_of(field).empty() || defaults.own.has(field); }

bool PairRules::has_one_length() const {
  const std::string_view source = name_of("max_source_positions");
  return !source.empty() && source == name_of("max_target_positions");
}

std::vector<NameRow> PairRules::rows_of(const EncoderDecoderConfig& config) const {
  std::vector<NameRow> rows = more_names(config);
  rows.insert(rows.end(), names.begin(), names.end());
  return rows;
}

std::string PairRules::prefix() const { return base_prefix.empty() ? std::string() : concat(base_prefix, "."); }

std::vector<const Family*> pair_families() {
  std::vector<const Family*> found;
  found.reserve(kEncoderDecoderTypes.size());
  for (const std::string_view name : kEncoderDecoderTypes) {
    found.push_back(find_family(name));
  }
  return found;
}

const PairRules& pair_rules(std::string_view model_type) {
  for (const Family* family : families()) {
    if (family->pair != nullptr && family->pair->defaults.model_type == model_type) {
      return *family->pair;
    }
  }
  fail(ErrorKind::kArgument, "model_type of an encoder-decoder must be one of ", EncoderDecoderConfig().model_type,
       ", ", types_in_words(kEncoderDecoderTypes, ", "), ", found ", quote(model_type));
}

std::string pairs_with(std::string_view field) {
  std::vector<std::string_view> names;
  for (const Family* family : pair_families()) {
    if (family->pair->has_field(field)) {
      names.push_back(family->name);
    }
  }
  return in_words(names, " and ");
}

void accept_pair(const EncoderDecoderConfig&, std::string_view) {}
std::string full_source(const EncoderDecoderConfig&, const EncoderOptions&, std::int64_t) { return "full"; }
layers::SelfAttentionFactory plain_source(const EncoderDecoderConfig&, const EncoderOptions&, bool) { return {}; }
NamedTensors no_constants(const EncoderDecoderConfig&, const at::TensorOptions&) { return {}; }
const text::Tokenizer* no_one_tokenizer(const text::PairTokenizer&) { return nullptr; }
void keep_own_fields(EncoderDecoderConfig&) {}
std::vector<NameRow> no_more_names(const EncoderDecoderConfig&) { return {}; }
std::int64_t shared_columns(const EncoderDecoderConfig&) { return 0; }
double unscaled(const EncoderDecoderConfig&) { return 1.0; }

std::unique_ptr<text::PairTokenizer> load_two_sides(const EncoderDecoderConfig&,
                                                    const std::filesystem::path& directory) {
  return text::load_pair_tokenizer(directory);
}

PassSettings one_source_pass(const EncoderDecoderConfig& config, const EncoderOptions&) {
  PassSettings settings;
  settings.padding_id = config.pad_token_id;
  settings.position_rows = config.max_source_positions;
  return settings;
}

PairBlueprint blueprint(const EncoderDecoderConfig& config, const EncoderOptions& options) {
  const PairRules& rules = pair_rules(config);
  EncoderDecoderConfig asked = config;
  replace_fields(asked, options.fields, pairs_with);
  return {rules.encoder(asked, options), rules.decoder(asked), rules.passes(asked, options), rules.score_scale(asked)};
}

std::string replacing_attention(const EncoderDecoderConfig& config, const EncoderOptions& options, std::int64_t layer) {
  const std::vector<std::string>& list = config.encoder_attention;
  if (!options.attention.empty() || list.empty()) {
    return options.attention;
  }
  return list.size() == 1 ? list.front() : list.at(static_cast<std::size_t>(layer));
}

EncoderDecoderConfig with_options(const EncoderDecoderConfig& config, const EncoderOptions& options) {
  EncoderDecoderConfig asked = config;
  if (!options.attention.empty()) {
    asked.encoder_attention = {options.attention};
    asked.encoder_full_until = 0;  // belonged to the pattern that is replaced
  }
  replace_fields(asked, options.fields, pairs_with);
  return asked;
}

}  // namespace weft::models
