// SPDX-License-Identifier: Apache-2.0
// What a command that made a model says of it.
#pragma once

#include <filesystem>
#include <string_view>

#include "weft/models/encoder_decoder.h"
#include "weft/models/encoder_model.h"
#include "weft/models/language_model.h"

namespace weft::cli {

/// Prints what was made, as a line or as {"out", "family", "head", "parameters", "positions"}.
void print_new_model(const std::filesystem::path& out, const models::EncoderModel& model, bool json);
/// The same of an encoder-decoder, whose "positions" are those of a source.
void print_new_model(const std::filesystem::path& out, const models::EncoderDecoder& model, bool json);
/// The same of a decoder of `family`, whose "positions" are those of a segment or of the longest text.
void print_new_model(const std::filesystem::path& out, const models::LanguageModel& model, std::string_view family,
                     bool json);

}  // namespace weft::cli
