// SPDX-License-Identifier: Apache-2.0
// Encoders as Hugging Face directories: config.json and weights in, the same out. Every tensor is checked in both
// directions, by name and shape, before a weight is used.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "weft/checkpoint/open_model.h"
#include "weft/models/encoder_model.h"

namespace weft::checkpoint {

// open_model() for one answer alone.
models::EncoderConfig load_encoder_config(const std::filesystem::path& directory);
/// The config of what load_encoder() opens. Errors: as need(Ability::kRead).
models::EncoderConfig load_encoder_config(const OpenedModel& directory);

/// How load_encoder() reads a directory.
struct EncoderLoadOptions {
  std::optional<models::Head> head = {};  ///< absent: what config.json's architectures name
  models::EncoderOptions encoder = {};
  at::ScalarType dtype = at::kFloat;  ///< of the parameters: float32, bfloat16, float64
  bool int8 = false;  ///< for inference: linear layers and token embeddings keep int8 with a scale a row, as they do
                      ///< for a directory that holds int8
  bool check_finite = false;    ///< NaN or infinite weights become a kNumeric error that names the tensor
  bool allow_new_head = false;  ///< fine-tuning: what the file lacks of the head and of encoder.attention begins anew
  std::uint64_t seed = 0;       ///< of what begins anew, see new_tensors
  std::vector<std::string> labels = {};             ///< of a new head, in place of the config's id2label
  std::vector<std::string>* new_tensors = nullptr;  ///< when given: the Hugging Face names of what was initialised
};

/// The model of a directory in evaluation mode, on attention::opening_device(). Its weights may be safetensors or
/// PyTorch's files, whole or in shards. Errors: as open_model and encoder_config; kFormat for tensors that are missing,
/// surplus or of another shape than config.json says, naming the tensor and both shapes.
models::EncoderModel load_encoder(const OpenedModel& directory, const EncoderLoadOptions& options = {});
models::EncoderModel load_encoder(const std::filesystem::path& directory, const EncoderLoadOptions& options = {});

/// Writes config.json, model.safetensors, which `transformers` loads without a warning, and the graphs that `attention`
/// names, and copies the tokeniser's files from `tokenizer_from` where that is given. A new directory appears whole; in
/// one that exists each file is replaced atomically, config.json last. Errors: kIo.
void save_encoder(const std::filesystem::path& directory, const models::EncoderModel& model,
                  const std::filesystem::path& tokenizer_from = {});

/// What a BERT or RoBERTa checkpoint becomes, or one of a family whose models become longer ones
/// (EncoderRules::lengthens).
struct ConvertOptions {
  std::string to;              ///< family of the new model
  std::int64_t length = 4096;  ///< longest text; of a family that has positions, rows of their table
  formats::Json settings = formats::Json::object();  ///< fields of the new family alone, by their names
  std::vector<std::string> attention = {};           ///< in place of the family's: one, or one a layer
};

/// Makes a long encoder from a short one (Beltagy et al. 2020, section 5; Zaheer et al. 2020, section 4): the learned
/// positions are copied over and over, RoBERTa's rows for padding stay where they are, Longformer's global projections
/// begin as copies of the local ones. A LittleBird has no positions: slopes of distances begin as those of ALiBi, the
/// projections with which a layer packs the text as those with which it attends, and latent k as what the embeddings
/// give for the mean token at position k P / latents, of P positions of the source. It is another function than the
/// source until it is trained (the paper distils it). So is an ETC, whose own parameters begin as checkpoint/etc/
/// first_values.h says. Heads go along. Errors: as load_encoder; kArgument for a family
/// or length that does not fit.
models::EncoderModel convert_encoder(const models::EncoderModel& source, const ConvertOptions& options);

}  // namespace weft::checkpoint
