// SPDX-License-Identifier: Apache-2.0
// A model as a directory: config.json, model.safetensors, and the tokeniser's own file if it has one. Every field and
// tensor is checked in both directions, by name and shape, before a weight is used.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <torch/types.h>

#include "weft/checkpoint/open_model.h"
#include "weft/models/language_model.h"
#include "weft/text/tokenizer.h"

namespace weft::checkpoint {

/// open_model() for the config alone.
models::TransformerConfig load_config(const std::filesystem::path& directory);
/// The config of what load_model() opens. Errors: as need() of Ability::kPredict or kDraw.
models::TransformerConfig load_config(const OpenedModel& directory);
/// How its family is read and written. Errors: the same.
const models::CausalRules& predictor_rules(const OpenedModel& directory);

/// Errors: kArgument naming `where` for a tokeniser of another kind than config.json says, or with more ids than the
/// model has rows.
void check_tokenizer(const models::TransformerConfig& config, const text::Tokenizer& tokenizer, std::string_view where);

/// The tokeniser of a model that predicts tokens of a text. Errors: as need(Ability::kPredict), text::load_tokenizer()
/// and check_tokenizer().
std::unique_ptr<text::Tokenizer> load_tokenizer(const OpenedModel& directory);

/// Writes config.json, model.safetensors and the tokeniser's file. A new directory appears whole; in one that exists
/// (which may hold other files) each file is replaced atomically, config.json last. Errors: kIo; kArgument when the
/// tokeniser does not fit the config.
void save_model(const std::filesystem::path& directory, const models::LanguageModel& model,
                const text::Tokenizer& tokenizer);

/// Writes config.json, model.safetensors and copies of the tokeniser's files in `files_from` into a new directory, as
/// the family has them. Errors: kIo; kUnsupported for a model that such a directory cannot hold, naming the field.
void save_model_as(const models::CausalRules& form, const std::filesystem::path& directory,
                   const models::LanguageModel& model, const std::filesystem::path& files_from);

/// How load_model() reads a directory.
struct LoadOptions {
  bool check_finite = false;                ///< NaN or infinite weights become a kNumeric error that names the tensor
  std::vector<std::string> attention = {};  ///< mechanisms in place of config.json's, one or one a layer; empty: those
  bool int8 = false;                        ///< for inference, as EncoderLoadOptions has it
  at::ScalarType dtype = at::kFloat;        ///< of weights; what becomes int8 is read as it lies
};

/// The model of a directory in options.dtype, in evaluation mode, on attention::opening_device(). Errors: as open_model
/// and load_config; kFormat for tensors that are missing, surplus or of another shape than config.json says, naming the
/// tensor and both shapes.
models::LanguageModel load_model(const OpenedModel& directory, const LoadOptions& options = {});
models::LanguageModel load_model(const std::filesystem::path& directory, const LoadOptions& options = {});

}  // namespace weft::checkpoint
