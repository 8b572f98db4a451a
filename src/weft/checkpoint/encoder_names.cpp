// SPDX-License-Identifier: Apache-2.0
// The tables. "#" stands for a layer's number, "~" for the family's prefix; ".weight" and ".bias" stand as they are.
#include "weft/checkpoint/encoder_names.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "weft/core/error.h"
#include "weft/models/families/family.h"

namespace weft::checkpoint {
namespace {

using models::EncoderConfig;
using models::Head;

/// A parameter, or all parameters of a module. A row without a head serves all heads.
struct NameRow {
  std::string_view weft;
  std::array<std::string_view, 3> parts;
  std::optional<Head> head = std::nullopt;
};

constexpr std::array kEncoder{
    NameRow{"encoder.embeddings.tokens", {"~embeddings.word_embeddings.weight"}},
    NameRow{"encoder.embeddings.positions", {"~embeddings.position_embeddings.weight"}},
    NameRow{"encoder.embeddings.token_types", {"~embeddings.token_type_embeddings.weight"}},
    NameRow{"encoder.embeddings.norm", {"~embeddings.LayerNorm"}},
    NameRow{"encoder.layers.#.attention.qkv",
            {"~encoder.layer.#.attention.self.query", "~encoder.layer.#.attention.self.key",
             "~encoder.layer.#.attention.self.value"}},
    NameRow{"encoder.layers.#.attention.global_qkv",
            {"~encoder.layer.#.attention.self.query_global", "~encoder.layer.#.attention.self.key_global",
             "~encoder.layer.#.attention.self.value_global"}},
    NameRow{"encoder.layers.#.attention.output", {"~encoder.layer.#.attention.output.dense"}},
    NameRow{"encoder.layers.#.attention_norm", {"~encoder.layer.#.attention.output.LayerNorm"}},
    NameRow{"encoder.layers.#.feed_forward.up", {"~encoder.layer.#.intermediate.dense"}},
    NameRow{"encoder.layers.#.feed_forward.down", {"~encoder.layer.#.output.dense"}},
    NameRow{"encoder.layers.#.feed_forward_norm", {"~encoder.layer.#.output.LayerNorm"}},
};

constexpr std::array kBert{
    NameRow{"head.pooler", {"~pooler.dense"}},
    NameRow{"head.dense", {"cls.predictions.transform.dense"}, Head::kMaskedLanguageModel},
    NameRow{"head.norm", {"cls.predictions.transform.LayerNorm"}, Head::kMaskedLanguageModel},
    NameRow{"head.bias", {"cls.predictions.bias"}, Head::kMaskedLanguageModel},
    NameRow{"head.decoder", {"cls.predictions.decoder.weight"}, Head::kMaskedLanguageModel},
    NameRow{"head.projection", {"qa_outputs"}, Head::kQuestionAnswering},
    NameRow{"head.projection", {"classifier"}},
};

/// RoBERTa and Longformer.
constexpr std::array kRoberta{
    NameRow{"head.pooler", {"~pooler.dense"}},
    NameRow{"head.dense", {"lm_head.dense"}, Head::kMaskedLanguageModel},
    NameRow{"head.norm", {"lm_head.layer_norm"}, Head::kMaskedLanguageModel},
    NameRow{"head.bias", {"lm_head.bias"}, Head::kMaskedLanguageModel},
    NameRow{"head.decoder", {"lm_head.decoder.weight"}, Head::kMaskedLanguageModel},
    NameRow{"head.dense", {"classifier.dense"}, Head::kSequenceClassification},
    NameRow{"head.projection", {"classifier.out_proj"}, Head::kSequenceClassification},
    NameRow{"head.projection", {"qa_outputs"}, Head::kQuestionAnswering},
    NameRow{"head.projection", {"classifier"}},
};

constexpr std::array kBigBird{
    NameRow{"head.pooler", {"~pooler"}},
    NameRow{"head.dense", {"cls.predictions.transform.dense"}, Head::kMaskedLanguageModel},
    NameRow{"head.norm", {"cls.predictions.transform.LayerNorm"}, Head::kMaskedLanguageModel},
    NameRow{"head.bias", {"cls.predictions.bias"}, Head::kMaskedLanguageModel},
    NameRow{"head.decoder", {"cls.predictions.decoder.weight"}, Head::kMaskedLanguageModel},
    NameRow{"head.dense", {"classifier.dense"}, Head::kSequenceClassification},
    NameRow{"head.projection", {"classifier.out_proj"}, Head::kSequenceClassification},
    NameRow{"head.feed_forward.up", {"qa_classifier.intermediate.dense"}, Head::kQuestionAnswering},
    NameRow{"head.feed_forward.down", {"qa_classifier.output.dense"}, Head::kQuestionAnswering},
    NameRow{"head.norm", {"qa_classifier.output.LayerNorm"}, Head::kQuestionAnswering},
    NameRow{"head.projection", {"qa_classifier.qa_outputs"}, Head::kQuestionAnswering},
    NameRow{"head.projection", {"classifier"}},
};

std::span<const NameRow> head_rows(std::string_view model_type) {
  if (model_type == "bert") {
    return kBert;
  }
  return model_type == "big_bird" ? std::span<const NameRow>(kBigBird) : std::span<const NameRow>(kRoberta);
}

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

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return name.starts_with(beginning); });
}

}  // namespace

HuggingFaceNames hugging_face_names(const EncoderConfig& config, Head head, std::string_view parameter, bool prefixed) {
  const Numbered numbered = take_number(parameter);
  const std::string prefix = prefixed ? concat(models::find_family(config.model_type).base_prefix, ".") : "";
  const std::span<const NameRow> of_family = head_rows(config.model_type);
  std::vector<NameRow> rows(kEncoder.begin(), kEncoder.end());
  rows.insert(rows.end(), of_family.begin(), of_family.end());
  for (const NameRow& row : rows) {
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
  const std::string_view model_type = config.model_type;
  if (model_type == "bert" || model_type == "big_bird") {
    return starts_with_any(name, {"cls.", "classifier.", "qa_outputs.", "qa_classifier."});
  }
  return starts_with_any(name, {"lm_head.", "classifier.", "qa_outputs."});
}

}  // namespace weft::checkpoint
