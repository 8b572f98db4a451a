// SPDX-License-Identifier: Apache-2.0
// What `weft train` was asked for: flags over a config file over defaults, split into the model's part and the
// trainer's.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "weft/formats/config_json.h"
#include "weft/models/transformer_config.h"
#include "weft/text/tokenizer.h"
#include "weft/training/trainer_config.h"

namespace weft::cli {

/// The config file's fields, checked by name only, with `flags` laid over them. `file` may be empty.
/// Errors: kIo, kFormat for a file that is no JSON object or names an unknown field.
formats::Json merged_fields(const std::string& file, const formats::Json& flags);

/// A new run's configs from merged fields. The vocabulary is the tokeniser's, and the model is made for the training
/// context unless max_position_embeddings says otherwise. Files that the attention names lie below `directory`. Errors:
/// kArgument, kFormat.
struct TrainPlan {
  training::TrainerConfig trainer;
  models::TransformerConfig model;
  std::shared_ptr<const text::Tokenizer> tokenizer;
};
TrainPlan plan_training(const formats::Json& fields, const std::string& tokenizer_file,
                        const std::filesystem::path& directory);

}  // namespace weft::cli
