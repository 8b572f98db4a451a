// SPDX-License-Identifier: Apache-2.0
// A family's rows with prefix and layer filled in. ".weight" and ".bias" are the same on both sides.
#include "weft/checkpoint/encoder_names.h"

#include <algorithm>
#include <optional>

#include "weft/core/error.h"
#include "weft/models/families/family.h"

namespace weft::checkpoint {
namespace {

using models::EncoderConfig;
using models::Head;
using models::NameRow;

/// A name with its layer's number taken out.
struct Numbered {
  std::string text;
  std::string number;
};

Numbered take_number(std::string_view name) {
  constexpr std::string_view kLayers = "encoder.layers.";
  if (!name.starts_with(kLayers)) {
    return {std::string(name), {}};
  }
  const std::size_t end = name.find('.', kLayers.size());
  return {concat(kLayers, "#", name.substr(end)), std::string(name.substr(kLayers.size(), end - kLayers.size()))};
}

/// What a name has behind the row's: nothing, ".weight" or ".bias"; no value when the row is for another name.
std::optional<std::string> rest_of(const NameRow& row, Head head, std::string_view name) {
  if ((row.head && *row.head != head) || !name.starts_with(row.weft)) {
    return std::nullopt;
  }
  const std::string_view rest = name.substr(row.weft.size());
  return rest.empty() || rest == ".weight" || rest == ".bias" ? std::optional<std::string>(rest) : std::nullopt;
}

std::string filled(std::string_view pattern, std::string_view prefix, std::string_view number) {
  std::string text;
  for (const char letter : pattern) {
    if (letter == '~') {
      text += prefix;
    } else if (letter == '#') {
      text += number;
    } else {
      text += letter;
    }
  }
  return text;
}

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
    if (!config.tie_word_embeddings) {
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
  const Numbered numbered = take_number(parameter);
  const models::EncoderFamily& family = models::find_family(config.model_type);
  const std::string prefix = prefixed ? concat(family.base_prefix, ".") : "";
  for (const NameRow& row : family.names) {
    const std::optional<std::string> rest = rest_of(row, head, numbered.text);
    if (!rest) {
      continue;
    }
    HuggingFaceNames names;
    for (const std::string_view part : row.parts) {
      if (!part.empty()) {
        names.parts.push_back(filled(part, prefix, numbered.number) + *rest);
      }
    }
    add_others(names, config);
    return names;
  }
  throw std::logic_error(concat("no Hugging Face name for ", parameter));
}

bool is_passed_over(const EncoderConfig& config, std::string_view name) {
  const std::string prefix = concat(models::find_family(config.model_type).base_prefix, ".");
  const std::string_view bare = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  return bare == "embeddings.position_ids" || bare == "embeddings.token_type_ids" || bare.starts_with("pooler.") ||
         starts_with_any(name, {"cls.seq_relationship.", "cls.predictions.decoder.", "lm_head.decoder."}) ||
         (!config.tie_word_embeddings && (name == "cls.predictions.bias" || name == "lm_head.bias"));
}

bool is_of_a_head(const EncoderConfig& config, std::string_view name) {
  return starts_with_any(name, models::find_family(config.model_type).head_prefixes);
}

}  // namespace weft::checkpoint
