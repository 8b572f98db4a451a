// SPDX-License-Identifier: Apache-2.0
// The part of `weft eval` that measures a language model: a decoder on text, pictures or sound, an encoder on masked
// tokens.
#pragma once

#include <string>

#include "weft/checkpoint/open_model.h"
#include "weft/cli/evaluation/language_eval_config.h"
#include "weft/formats/config_json.h"

namespace weft::cli {

/// The figures of training::evaluate() and its kin for `model`, with its dtype, its memory and
/// its learned spans. `task` is empty, or lm or mlm as the model is. Errors: kArgument where task, flags and model do
/// not go together; those of checkpoint::open_model(), of the files to read, and kIo for those to write.
formats::Json eval_language(const checkpoint::OpenedModel& model, const std::string& task,
                            const LanguageEvalConfig& config);

}  // namespace weft::cli
