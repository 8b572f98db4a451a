// SPDX-License-Identifier: Apache-2.0
// How the tensors of a Hugging Face file go with an encoder: with or without the family's prefix, with the model's head
// or another one.
#pragma once

#include <filesystem>
#include <memory>

#include "weft/checkpoint/weights.h"
#include "weft/models/encoder_model.h"

namespace weft::checkpoint {

/// How a file's names go with a model.
struct EncoderFile {
  const formats::TensorFile& file;
  bool prefixed = true;     ///< the encoder's tensors begin with the family's prefix
  bool other_head = false;  ///< tensors of another head than the model's may be there
  bool other_class =
      false;  ///< config.json names a class that nobody published: tensors outside the encoder may be too many
  bool new_head = false;       ///< a head's tensors may be missing, and those of `attention`
  std::string attention = {};  ///< that was asked for in place of the config's
};

/// The weights of a directory, and which of the family's layouts their names have (EncoderConfig::layout). Errors: as
/// open_weights().
std::unique_ptr<formats::TensorFile> open_encoder_weights(const std::filesystem::path& directory,
                                                          models::EncoderConfig& config);

/// Looks at the file's names. `head` is the one that the model is to have.
EncoderFile describe_encoder_file(const formats::TensorFile& file, const models::EncoderConfig& config,
                                  models::Head head);

/// Whether the file has all of a pooler's tensors.
bool has_pooler(const EncoderFile& file, const models::EncoderConfig& config);
/// Whether the file holds a vocabulary matrix of the head's own, different from the token embeddings: transformers then
/// does not tie them, whatever the config says.
bool has_untied_decoder(const EncoderFile& file, const models::EncoderConfig& config);

/// For check_weights() and read_weights(): a head, or the layer that scores other labels than the file's, may be new.
WeightMap encoder_weight_map(const EncoderFile& file, const models::EncoderConfig& config, models::Head head);

/// The parameters under their Hugging Face names, as views.
NamedTensors encoder_tensors(const models::EncoderModelImpl& model);

}  // namespace weft::checkpoint
