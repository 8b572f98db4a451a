// SPDX-License-Identifier: Apache-2.0
// Flags of `weft train` and `weft eval` that belong to fine-tuning, and which flags go with which task.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "weft/cli/front/field_flags.h"
#include "weft/core/disk/model_file.h"
#include "weft/formats/config_json.h"

namespace weft::cli {

/// Every task of `weft train`: lm, mlm, those of fine-tuning, and those that learn pairs of texts.
const std::vector<std::string>& task_names();

/// Remembers which fields are settings of a run's training.json that differ from the defaults and are not `given` anew:
/// errors about them name that file. No file, no such field.
void note_stored_settings(const ModelFile& file, const formats::Json& given);

/// Adds the groups "Fine-tuning" and "Examples" to `weft train`.
void add_fine_tuning_flags(CLI::App& app, formats::Json& given);
/// Adds the groups "Pairs" and "Encoder-decoder": what no other group has.
void add_pair_flags(CLI::App& app, formats::Json& given);
/// The fields of examples alone, for `weft eval`.
void add_example_flags(CLI::App& app, formats::Json& given);

/// What the help of the trainer's fields says of fine-tuning: the defaults that differ.
std::map<std::string_view, std::string> fine_tuning_remarks();

/// Fields of TextConfig, which only language modelling reads.
const std::vector<std::string_view>& text_fields();

/// Errors: UsageError for a field of `given` that `task` does not read, naming its flag.
void check_flags_of_task(const std::string& task, const formats::Json& given);

}  // namespace weft::cli
