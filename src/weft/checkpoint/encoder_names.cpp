// SPDX-License-Identifier: Apache-2.0
// A family's rows, and the names that older files have.
#include "weft/checkpoint/encoder_names.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/families/family.h"
#include "weft/models/families/name_rows.h"

namespace weft::checkpoint {
namespace {

using models::EncoderConfig;
using models::Head;

/// Old names of a layer norm's parameters (TensorFlow's), and where a masked-LM bias may stand besides.
void add_others(HuggingFaceNames& names, const EncoderConfig& config) {
  const std::string& name = names.parts.front();
  const auto with_end = [&](std::string_view end, std::string_view other) {
    return name.substr(0, name.size() - end.size()) + std::string(other);
  };
  if (name.ends_with("LayerNorm.weight")) {
    names.alternatives.push_back(with_end("weight", "gamma"));
  } else if (name.ends_with("LayerNorm.bias")) {
    names.alternatives.push_back(with_end("bias", "beta"));
  } else if (name == "cls.predictions.bias" || name == "lm_head.bias") {
    const std::string of_decoder = with_end("bias", "decoder.bias");
    names.alternatives.push_back(of_decoder);
    if (!config.tie_word_embeddings && !config.body) {
      // Untied, transformers adds the decoder's own bias, and keeps the other one without using it.
      std::swap(names.parts.front(), names.alternatives.back());
      names.copies = names.alternatives;
    }
  }
}

bool starts_with_any(std::string_view name, const std::vector<std::string_view>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return name.starts_with(beginning); });
}

}  // namespace

HuggingFaceNames hugging_face_names(const EncoderConfig& config, Head head, std::string_view parameter, bool prefixed) {
  const models::EncoderFamily& family = models::find_family(config.model_type);
  HuggingFaceNames names;
  names.parts = models::names_by_rows(family.names, parameter, prefixed ? concat(family.base_prefix, ".") : "", head);
  if (names.parts.empty()) {
    throw std::logic_error(concat("no Hugging Face name for ", parameter));
  }
  names.ones = models::ones_by_rows(family.names, parameter, head);
  add_others(names, config);
  return names;
}

bool is_passed_over(const EncoderConfig& config, std::string_view name) {
  const std::string prefix = concat(models::find_family(config.model_type).base_prefix, ".");
  const std::string_view bare = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  return bare == "embeddings.position_ids" || bare == "embeddings.token_type_ids" || bare.starts_with("pooler.") ||
         starts_with_any(name, {"cls.seq_relationship.", "cls.predictions.decoder.", "lm_head.decoder."}) ||
         (config.body && name.find("mask_value_float") != std::string_view::npos) ||  // constants in old files
         (!config.tie_word_embeddings && !config.body && (name == "cls.predictions.bias" || name == "lm_head.bias"));
}

bool is_of_a_head(const EncoderConfig& config, std::string_view name) {
  return starts_with_any(name, models::find_family(config.model_type).head_prefixes);
}

}  // namespace weft::checkpoint
