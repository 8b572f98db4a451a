// SPDX-License-Identifier: Apache-2.0
// Reformer directories of transformers: what their tensors are called, and writing one.
#pragma once

#include <filesystem>

#include "weft/checkpoint/weights.h"
#include "weft/models/language_model.h"

namespace weft::checkpoint {

/// The names of a model's parameters in such a directory.
WeightMap reformer_map(const models::TransformerConfig& config);

/// Writes config.json, model.safetensors and copies of the tokeniser's files in `files_from` into a new directory;
/// SentencePiece's is spiece.model there. Errors: kIo; kUnsupported for a model that it cannot hold.
void save_reformer(const std::filesystem::path& directory, const models::LanguageModel& model,
                   const std::filesystem::path& files_from);

}  // namespace weft::checkpoint
