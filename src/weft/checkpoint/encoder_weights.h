// SPDX-License-Identifier: Apache-2.0
// An encoder's parameters against a Hugging Face file by the name maps: every name and shape checked, in both
// directions, before a value moves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/checkpoint/tensors.h"
#include "weft/models/encoder_model.h"

namespace weft::checkpoint {

/// How a file's names go with a model.
struct EncoderFile {
  const formats::TensorFile& file;
  bool prefixed = true;     ///< the encoder's tensors begin with the family's prefix
  bool other_head = false;  ///< tensors of another head than the model's may be there
  bool new_head = false;    ///< a head's tensors may be missing
};

/// Looks at the file's names. `head` is the one that the model is to have.
EncoderFile describe_encoder_file(const formats::TensorFile& file, const models::EncoderConfig& config,
                                  models::Head head);

/// Whether the file has all of a pooler's tensors.
bool has_pooler(const EncoderFile& file, const models::EncoderConfig& config);
/// Whether the file holds a vocabulary matrix of the head's own, different from the token embeddings: transformers then
/// does not tie them, whatever the config says.
bool has_untied_decoder(const EncoderFile& file, const models::EncoderConfig& config);

/// Throws kFormat unless the file holds the parameters of `model` (which may be on the meta device) and nothing else
/// that matters: names a missing, a surplus or a misshapen tensor with both shapes, and how many more there are.
/// Returns Weft's names of the parameters that the file lacks and may lack.
std::vector<std::string> check_encoder_weights(const models::EncoderModelImpl& model, const EncoderFile& file);

/// Reads the file's tensors into the parameters, converting to their dtype; passes over those in `missing`. With
/// `check_finite`, NaN or infinity is a kNumeric error that names the tensor.
void read_encoder_weights(models::EncoderModelImpl& model, const EncoderFile& file,
                          const std::vector<std::string>& missing, bool check_finite);

/// The parameters under their Hugging Face names, as views.
NamedTensors encoder_tensors(const models::EncoderModelImpl& model);

}  // namespace weft::checkpoint
