// SPDX-License-Identifier: Apache-2.0
// Decoders of transformers that open as decoders of Weft's own: one row a model_type, with its config, its tensors'
// names and its way back.
#pragma once

#include <filesystem>
#include <string_view>

#include "weft/checkpoint/weights.h"
#include "weft/formats/config_json.h"
#include "weft/models/language_model.h"

namespace weft::checkpoint {

struct PublishedDecoder {
  std::string_view type;  ///< one of kPublishedDecoderTypes (model_kind.h)
  models::TransformerConfig (*from_json)(const formats::Json& config, const std::filesystem::path& directory);
  WeightMap (*map)(const models::TransformerConfig& config);
  /// Writes config.json, model.safetensors and copies of the tokeniser's files in `files_from` into a new directory.
  /// Errors: kIo; kUnsupported for a model that such a directory cannot hold, naming the field.
  void (*save)(const std::filesystem::path& directory, const models::LanguageModel& model,
               const std::filesystem::path& files_from);
};

/// Null where `type` is no such model_type.
const PublishedDecoder* published_decoder(std::string_view type);

}  // namespace weft::checkpoint
