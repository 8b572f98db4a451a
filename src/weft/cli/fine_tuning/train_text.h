// SPDX-License-Identifier: Apache-2.0
// `weft train --task lm|mlm --model DIR`: language models that go on from weights that they have.
#pragma once

#include <cstdint>
#include <string>

#include "weft/formats/config_json.h"
#include "weft/training/trainer.h"

namespace weft::cli {

/// Trains the model of fields["model"], of Hugging Face's or Weft's own, in a new run. Errors: UsageError where `task`
/// is not what the model can learn, or where the directory decides what a flag says.
training::TrainResult train_text_further(const std::string& task, const std::string& out, const formats::Json& fields,
                                         std::int64_t threads);

/// Goes on with a run over an encoder of Hugging Face's.
training::TrainResult resume_text(const std::string& out, const formats::Json& fields, std::int64_t threads);

}  // namespace weft::cli
