// SPDX-License-Identifier: Apache-2.0
// What is about to be computed, said before the first step.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/cli/output.h"
#include "weft/models/transformer_config.h"
#include "weft/training/task.h"
#include "weft/training/trainer_config.h"

namespace weft::cli {

/// "2,000 steps" or "5m00s".
std::string length_text(const training::TrainerConfig& config);

/// "1,234 parameters": those that `task` trains.
std::string parameters_text(const training::Task& task);

/// Adds dtype and threads; `threads` are those that count where the config names none.
void add_machine_rows(const training::TrainerConfig& trainer, std::int64_t threads, Rows& rows);

/// Adds the windows of a batch, how long is trained, and the text. Errors: kIo for text that is not there.
void add_text_rows(const training::TrainerConfig& trainer, Rows& rows);

/// A language model's run, as a table on standard error. Errors: kIo for text that is not there.
void announce(const training::TrainerConfig& trainer, const models::TransformerConfig& model, std::int64_t threads);

}  // namespace weft::cli
