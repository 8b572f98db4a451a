// SPDX-License-Identifier: Apache-2.0
// An encoder-decoder that Weft trained from random weights, as a directory: config.json (`model_type`
// weft_encoder_decoder, the fields of EncoderDecoderConfig), model.safetensors under Weft's own names, and the files of
// the one tokeniser that source and target share.
#pragma once

#include <filesystem>

#include "weft/checkpoint/open_model.h"
#include "weft/models/encoder_decoder.h"
#include "weft/text/tokenizer.h"

namespace weft::checkpoint {

/// Writes all files. A new directory appears whole; in one that exists (which may hold other files) each file is
/// replaced atomically, config.json last. Errors: kIo; kArgument for a config without eos_token_id,
/// decoder_start_token_id or pad_token_id, or with fewer ids than the tokeniser has.
void save_pair_model(const std::filesystem::path& directory, const models::EncoderDecoder& model,
                     const text::Tokenizer& tokenizer);

/// The model of a directory, in float32 and evaluation mode. Errors: those of OpenedModel::own_pair_config(); kFormat
/// for tensors that are missing, surplus or of another shape than config.json says.
models::EncoderDecoder load_pair_model(const OpenedModel& directory);

}  // namespace weft::checkpoint
