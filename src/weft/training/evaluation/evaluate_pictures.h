// SPDX-License-Identifier: Apache-2.0
// Bits per byte of pictures under a decoder: every byte is scored once, behind all bytes of its picture before it and
// nothing of another one. With a byte a channel, these are the "bits per dim" of papers on pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/data/picture_tokens.h"
#include "weft/formats/config_json.h"
#include "weft/models/language_model.h"
#include "weft/training/evaluation/evaluate.h"

namespace weft::training {

/// {"bits_per_byte", "perplexity", "pictures", "bytes", "context", "seconds"}: summed nats / (ln 2 * bytes), and
/// exp(nats / bytes). options.context and options.scored are not looked at; options.max_bytes counts whole pictures,
/// one at least. Processes that train together share the pictures, and each gets the result. Errors: kArgument where
/// the model learned other pictures, or text; kNumeric when a loss is not finite.
formats::Json evaluate_pictures(models::LanguageModel model, const data::PictureTokens& pictures,
                                const EvaluateOptions& options);

/// These names.
std::vector<std::string> picture_figure_names();

/// Throws kArgument naming `where` unless `model` is made for pictures of that shape.
void check_pictures(const models::TransformerConfig& model, const readers::PictureShape& shape, std::string_view where);

}  // namespace weft::training
