// SPDX-License-Identifier: Apache-2.0
// What `weft info` says about a directory of sentence-transformers beside its transformer.
#pragma once

#include <optional>

#include "weft/checkpoint/open_model.h"
#include "weft/cli/output.h"
#include "weft/formats/config_json.h"

namespace weft::cli {

/// {"model_type", "modules" (as text, the Transformer first), "embedding" {"pooling", "normalized", "modules",
/// "prompt", "dimensions"}, "max_length", "do_lower_case", "prompts", "default_prompt_name", "similarity"}, without
/// what belongs to embedders alone of a cross-encoder; nothing where there is no modules.json. Errors: those of
/// checkpoint::read_sentence_directory() and tasks::make_recipe().
std::optional<formats::Json> sentence_summary(const checkpoint::OpenedModel& directory);

/// Rows for name_table from it.
Rows sentence_rows(const formats::Json& summary);

}  // namespace weft::cli
