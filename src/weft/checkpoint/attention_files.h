// SPDX-License-Identifier: Apache-2.0
// The files that a model's attention expressions name, for whoever saves its config in another directory.
#pragma once

#include <filesystem>

#include <torch/nn/module.h>

namespace weft::checkpoint {

/// Writes below `directory`, under the names that the expressions have for them, the graphs of edges("...") as the
/// layers of `model` hold them: where they were read may be gone by now. Errors: kIo.
void write_attention_files(const std::filesystem::path& directory, const torch::nn::Module& model);

}  // namespace weft::checkpoint
