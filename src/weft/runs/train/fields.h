// SPDX-License-Identifier: Apache-2.0
// The tasks of training, and which fields each of them reads.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/disk/model_file.h"
#include "weft/formats/config_json.h"

namespace weft::runs {

/// Every task: lm, mlm, those of fine-tuning, and those that learn pairs of texts.
const std::vector<std::string>& task_names();

/// Fields of several configs that mean the same in all, and "task", which is none of a config.
const std::vector<std::string_view>& common_fields();
/// Fields of TextConfig, which only language modelling reads.
const std::vector<std::string_view>& text_fields();
/// Fields of PairConfig that no other task has.
const std::vector<std::string_view>& pair_fields();
/// Fields of an encoder-decoder's shape that a language model does not have, and that no tokeniser or published family
/// decides.
const std::vector<std::string_view>& pair_shape_fields();

/// Errors for a field of `given` that `task` does not read, naming it: UsageError for flags; kArgument for the fields
/// of the config file `file`. `goes_on`: the run begins with a model that is there, which decides the shape.
void check_fields_of_task(const std::string& task, const formats::Json& given, bool goes_on,
                          const std::string& file = {});

/// Who hears which fields a file gave, so that errors about them can name the file. May be empty.
using FieldsOfFile = std::function<void(const std::string& file, const std::vector<std::string>& fields)>;

/// Tells `heard` which fields are settings of a run's training.json that differ from the defaults and are not `given`
/// anew. No file, no such field.
void tell_stored_settings(const ModelFile& file, const formats::Json& given, const FieldsOfFile& heard);

}  // namespace weft::runs
