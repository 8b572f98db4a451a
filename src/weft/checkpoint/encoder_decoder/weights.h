// SPDX-License-Identifier: Apache-2.0
// How the tensors of a file go with an encoder-decoder: one table of token embeddings under one name or under four, a
// head that is tied or not, positions and biases that belong to no parameter.
#pragma once

#include <string>

#include "weft/checkpoint/weights.h"
#include "weft/models/encoder_decoder.h"

namespace weft::checkpoint {

/// What a file's names say. The four names of token tables are those of `transformers`.
struct EncoderDecoderFile {
  std::string prefix;         ///< of the tensors below the head: "model.", or nothing
  std::string source_tokens;  ///< where the encoder's table lies
  std::string target_tokens;  ///< where the decoder's lies, which may be the same
  std::string head;           ///< where the head lies
  bool shares = true;         ///< both are equal
  bool ties = true;           ///< the head is equal to the decoder's table
};

/// Names one of which a file of the family has, see open_weights().
std::vector<std::string> encoder_decoder_anchors(const models::EncoderDecoderConfig& config);

/// Looks at the names and, where one table has several, at the values: copies that differ stay apart, as `transformers`
/// has it. Errors: kFormat where there is no table at all.
EncoderDecoderFile describe_encoder_decoder(const formats::TensorFile& file,
                                            const models::EncoderDecoderConfig& config);

/// For check_weights() and read_weights().
WeightMap encoder_decoder_map(const EncoderDecoderFile& file, const models::EncoderDecoderConfig& config);

/// The bias of the head [target vocabulary] where the file has one that is not all zeros, else undefined. Errors:
/// kFormat for another shape or for integers; with `check_finite`, kNumeric for NaN or infinity.
at::Tensor read_head_bias(const formats::TensorFile& file, const models::EncoderDecoderConfig& config,
                          bool check_finite);

/// All that a file has to hold, for `transformers` to load it without a warning.
NamedTensors encoder_decoder_tensors(const models::EncoderDecoderImpl& model);

}  // namespace weft::checkpoint
