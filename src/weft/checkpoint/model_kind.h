// SPDX-License-Identifier: Apache-2.0
// What a user's DIR turns out to be, before anything of it is used, by the kinds of models/families/list.inc: a model
// that predicts tokens, an encoder, an encoder-decoder, a model that Weft does not open, or no model at all. Each error
// says what to do next. This file sees no LibTorch.
#pragma once

#include <filesystem>

#include "weft/formats/config_json.h"

namespace weft::checkpoint {

/// Errors: kIo unless `directory` is a directory, with a hint how to get a model whose name was given in its place.
void check_model_directory(const std::filesystem::path& directory);

/// `directory`/config.json. Errors: as check_model_directory; kIo when the file is not there; kFormat when it is no
/// JSON object or names no model_type.
formats::Json read_model_config(const std::filesystem::path& directory);

// What a config that names a model_type can be opened as. One that reads a text from both sides and has a vocabulary
// above it may open in two ways: as a model that predicts tokens, and as an encoder that is to learn a task.

/// As a decoder or encoder with a vocabulary above it, of Weft's own or of transformers (models::LanguageModel).
bool opens_as_predictor(const formats::Json& config);
/// As an encoder of one of the families.
bool opens_as_encoder(const formats::Json& config);
/// As an encoder-decoder, of Weft's own or of a family of Hugging Face.
bool opens_as_pair(const formats::Json& config);

/// Errors: kUnsupported unless opens_as_encoder(); it names the file, the model_type found and the commands that open
/// such a model.
void require_encoder(const formats::Json& config, const std::filesystem::path& directory);

/// Errors: kUnsupported unless opens_as_pair(), in the same way.
void require_encoder_decoder(const formats::Json& config, const std::filesystem::path& directory);

/// Errors: kFormat unless opens_as_predictor(), in the same way.
void require_own_model(const formats::Json& config, const std::filesystem::path& directory);

}  // namespace weft::checkpoint
