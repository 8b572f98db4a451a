// SPDX-License-Identifier: Apache-2.0
// A family's rows, and the names that older files have.
#include "weft/checkpoint/encoder_names.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/name_rows.h"

namespace weft::checkpoint {
namespace {

using models::EncoderConfig;
using models::Head;

/// Old names of a layer norm's parameters (TensorFlow's), and another one that the family's row has.
void add_others(HuggingFaceNames& names, const models::NameRow& row, bool tied) {
  const std::string& name = names.parts.front();
  const auto with_end = [&](std::string_view end, std::string_view other) {
    return name.substr(0, name.size() - end.size()) + std::string(other);
  };
  if (name.ends_with("LayerNorm.weight")) {
    names.alternatives.push_back(with_end("weight", "gamma"));
  } else if (name.ends_with("LayerNorm.bias")) {
    names.alternatives.push_back(with_end("bias", "beta"));
  }
  if (!row.other.empty()) {
    names.alternatives.emplace_back(row.other);
    if (!tied && row.other_if_untied) {
      std::swap(names.parts.front(), names.alternatives.back());
      names.copies = names.alternatives;
    }
  }
}

std::string_view without_end(std::string_view name, std::string_view end) {
  return name.ends_with(end) ? name.substr(0, name.size() - end.size()) : name;
}

bool starts_with_any(std::string_view name, const std::vector<std::string_view>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return name.starts_with(beginning); });
}

}  // namespace

HuggingFaceNames hugging_face_names(const EncoderConfig& config, Head head, std::string_view parameter, bool prefixed) {
  const models::NamesInFile layout = models::layout_of(config);
  HuggingFaceNames names;
  names.parts = models::names_by_rows(layout.names, parameter, prefixed ? concat(layout.base_prefix, ".") : "", head);
  if (names.parts.empty()) {
    fail(ErrorKind::kUnsupported, "the files of the family ", config.model_type, " have no place for ",
         Quoted(parameter), ", which this attention has");
  }
  if (const models::NameRow* const row = models::row_of(layout.names, parameter, head); row != nullptr) {
    names.ones = row->ones;
    const std::int64_t pairs = models::key_value_heads(config);
    if (names.parts.size() == 3 && pairs != config.num_attention_heads) {  // queries, keys, values
      names.shares = {config.num_attention_heads, pairs, pairs};
    }
    add_others(names, *row, config.tie_word_embeddings);
  }
  return names;
}

bool is_passed_over(const EncoderConfig& config, std::string_view name) {
  const models::EncoderRules& rules = models::encoder_rules(config);
  const models::NamesInFile layout = models::layout_of(config);
  const std::string prefix = concat(layout.base_prefix, ".");
  const std::string bare = models::without_number(name.starts_with(prefix) ? name.substr(prefix.size()) : name);
  // The tied copy of the token table, with its bias, and the bias that counts only with the copy.
  const models::NameRow* const decoder = models::row_of(layout.names, "head.decoder", Head::kMaskedLanguageModel);
  const models::NameRow* const bias = models::row_of(layout.names, "head.bias", Head::kMaskedLanguageModel);
  const bool of_decoder = decoder != nullptr && name.starts_with(without_end(decoder->parts.front(), "weight"));
  const bool idle_bias =
      bias != nullptr && bias->other_if_untied && !config.tie_word_embeddings && name == bias->parts.front();
  return of_decoder || idle_bias || starts_with_any(bare, rules.idle_names);
}

bool is_of_a_head(const EncoderConfig& config, std::string_view name) {
  return starts_with_any(name, models::encoder_rules(config).head_prefixes);
}

}  // namespace weft::checkpoint
