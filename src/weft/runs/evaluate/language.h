// SPDX-License-Identifier: Apache-2.0
// Measures a language model: a decoder on text, pictures or sound, an encoder on masked tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "weft/checkpoint/open_model.h"
#include "weft/formats/config_json.h"
#include "weft/runs/evaluate/language_config.h"

namespace weft::runs {

/// The figures of training::evaluate() and its kin for `model`, with its dtype, its memory and its learned spans.
/// `task` is empty, or lm or mlm as the model is. `progress` hears how many tokens are done, of how many; it may throw.
/// Errors: kArgument where task, config and model do not go together; those of checkpoint::open_model(), of the files
/// to read, and kIo for those to write.
formats::Json evaluate_language(const checkpoint::OpenedModel& model, const std::string& task,
                                const LanguageConfig& config,
                                const std::function<void(std::int64_t done, std::int64_t total)>& progress = {});

}  // namespace weft::runs
