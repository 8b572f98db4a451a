// SPDX-License-Identifier: Apache-2.0
// The files that a model's attention expressions name, for whoever saves its config in another directory.
#pragma once

#include <filesystem>
#include <vector>

#include <torch/nn/module.h>

#include "weft/formats/config_json.h"
#include "weft/pattern/pattern.h"

namespace weft::checkpoint {

/// Writes below `directory`, under the names that the expressions have for them, the graphs of edges("...") as the
/// layers of `model` hold them: where they were read may be gone by now. Errors: kIo.
void write_attention_files(const std::filesystem::path& directory, const torch::nn::Module& model);

/// The graphs that the attention expressions of a config name, one an expression that names it: `fields` are those of
/// config.json or training.json, where an attention is a string or a list of them, one a layer. Files lie below
/// `directory`, the working directory where empty. Errors: those of attention::parse_mechanism().
std::vector<pattern::PatternFile> named_graphs(const formats::Json& fields, const std::filesystem::path& directory);

}  // namespace weft::checkpoint
