// SPDX-License-Identifier: Apache-2.0
// What a Reformer's config.json makes of it: a decoder, an encoder that guesses masked tokens, or one with a head for a
// task. This header sees no LibTorch.
#pragma once

#include "weft/formats/config_json.h"

namespace weft::models {

/// `model_type` of Reformers.
inline constexpr const char* kReformer = "reformer";

/// Whether the config is that of a Reformer that reads a text from both sides. One for masked tokens opens in two ways:
/// as a model of one stack with a vocabulary, and as an encoder that is to learn a task.
inline bool is_reformer_encoder(const formats::Json& config) {
  return config.value("model_type", formats::Json()) == kReformer &&
         config.value("is_decoder", formats::Json(false)) == false;
}

/// Whether it is one of those with a head for a task, or with none: such a model is an encoder alone.
inline bool is_reformer_with_task(const formats::Json& config) {
  const formats::Json classes = config.value("architectures", formats::Json());
  const auto is = [&](const char* name) { return classes == formats::Json::array({name}); };
  return is_reformer_encoder(config) &&
         (is("ReformerForSequenceClassification") || is("ReformerForQuestionAnswering") || is("ReformerModel"));
}

}  // namespace weft::models
