// SPDX-License-Identifier: Apache-2.0
// An encoder directory of Hugging Face in a few rows, without reading its weights.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "weft/cli/output.h"
#include "weft/formats/config_json.h"

namespace weft::cli {

/// {"family", "kind", "head", "parameters", "layers", "width", "heads", "positions", "vocabulary", "labels",
/// "tokenizer", "attention" and what else EncoderModelImpl::computed() says}. Errors: as
/// checkpoint::load_encoder_config.
formats::Json encoder_summary(const std::filesystem::path& directory);

/// Rows for name_table from it.
Rows encoder_rows(const formats::Json& summary);

}  // namespace weft::cli
