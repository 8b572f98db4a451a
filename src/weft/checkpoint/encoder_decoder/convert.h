// SPDX-License-Identifier: Apache-2.0
// Encoder-decoders out of other models: longer ones, ones whose encoder attends otherwise, and warm starts from an
// encoder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/encoder_decoder.h"
#include "weft/models/encoder_model.h"

namespace weft::checkpoint {

/// What an encoder-decoder becomes.
struct PairConvertOptions {
  std::string to = {};                              ///< led, out of a bart; empty: the family stays
  std::int64_t length = 0;                          ///< tokens of the longest source; 0: as it is
  std::vector<std::string> attention = {};          ///< of the encoder: one, or one a layer; empty: as it is
  std::vector<std::int64_t> attention_window = {};  ///< led; empty: as it is, or 512 of a new one
};

/// The same weights under other settings. Learned positions are copied over and over until there are enough, and LED's
/// global projections begin as copies of the local ones (Beltagy et al. 2020, section 6). Errors: kArgument for a
/// family or length that does not fit; those of a mechanism string.
models::EncoderDecoder convert_encoder_decoder(const models::EncoderDecoder& source, const PairConvertOptions& options);

/// Files that the encoder's attention names lie in the working directory from now on. Errors: kArgument where the
/// decoder's attention names files, which lie beside its config.
void forget_directory(models::EncoderDecoderConfig& config);

/// How an encoder starts an encoder-decoder.
struct WarmStartOptions {
  std::int64_t decoder_layers = 0;           ///< 0: as many as the encoder has; never more
  std::int64_t decoder_start_token_id = -1;  ///< -1: the encoder's bos_token_id
  std::int64_t eos_token_id = -1;            ///< -1: the encoder's
  std::int64_t max_target_positions = 0;     ///< 0: as many as the encoder has; never more
};

/// A model of Weft's own whose encoder computes what `encoder` computes with token types of 0, and whose decoder begins
/// with the same weights, layer by layer, under cross-attention that is fresh (Rothe et al. 2020, as Zaheer et al. 2020
/// use it): LibTorch's CPU generator draws it. Tokens are one table for source, target and head. The row of token type
/// 0 becomes part of the positions. Errors: kArgument for options that do not fit; kUnsupported for a longformer, whose
/// global projections have no place there, and for an encoder without the ids that a target needs.
models::EncoderDecoder warm_start(const models::EncoderModel& encoder, const WarmStartOptions& options);

}  // namespace weft::checkpoint
