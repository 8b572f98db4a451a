// SPDX-License-Identifier: Apache-2.0
// An encoder-decoder that stays what it is, but for the patterns of its layers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weft/models/encoder_decoder.h"

namespace weft::checkpoint {

/// Mechanisms of an encoder-decoder, each one or one a layer; an empty list leaves the model's own.
struct PairAttention {
  std::vector<std::string> encoder;
  std::vector<std::string> decoder;
  std::vector<std::string> cross;
  std::filesystem::path graphs;  ///< files that they name lie below

  bool empty() const noexcept { return encoder.empty() && decoder.empty() && cross.empty(); }
};

/// `source` with these mechanisms and the same weights. Errors: kArgument and those of parse_mechanism for mechanisms
/// that do not fit, or that learn weights which the source does not have; kArgument where a list that stays names
/// files, which lie beside the config of `source`.
models::EncoderDecoder encoder_decoder_with_attention(const models::EncoderDecoder& source,
                                                      const PairAttention& attention);

}  // namespace weft::checkpoint
