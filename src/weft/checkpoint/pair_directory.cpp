// SPDX-License-Identifier: Apache-2.0
// Config, weights and tokeniser in one order: without its config.json a directory is no model.
#include "weft/checkpoint/pair_directory.h"

#include <memory>
#include <string>

#include "weft/checkpoint/attention_files.h"
#include "weft/checkpoint/model_kind.h"
#include "weft/checkpoint/weights.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/version.h"
#include "weft/formats/config_json.h"
#include "weft/formats/tensor_file.h"

namespace weft::checkpoint {
namespace {

using models::EncoderDecoderConfig;

std::string config_text(const EncoderDecoderConfig& config) {
  formats::Json json = {{"architectures", {"WeftForConditionalGeneration"}},
                        {"model_type", kOwnPairType},
                        {"is_encoder_decoder", true},
                        {"weft_version", kVersion}};
  json.update(formats::to_json(config));
  return json.dump(2) + "\n";
}

void check_special_ids(const EncoderDecoderConfig& config) {
  require(config.pad_token_id >= 0 && config.eos_token_id >= 0 && config.decoder_start_token_id >= 0,
          "model config: pad_token_id, eos_token_id and decoder_start_token_id must be ids, found ",
          config.pad_token_id, ", ", config.eos_token_id, " and ", config.decoder_start_token_id);
}

void write_pair_files(const std::filesystem::path& directory, const models::EncoderDecoder& model,
                      const text::Tokenizer& tokenizer) {
  const std::string config = config_text(model->config());
  const std::filesystem::path config_file = directory / "config.json";
  // Nobody pairs the old config with the new weights if the write ends half way.
  if (std::filesystem::exists(config_file) && read_file(config_file) != config) {
    std::filesystem::remove(config_file);
  }
  tokenizer.save(directory);
  save_tensors(directory / "model.safetensors", named_weights(*model),
               {{"format", "pt"}, {"weft_version", std::string(kVersion)}});
  write_attention_files(directory, *model);
  write_file_atomically(config_file, config);
}

}  // namespace

void save_pair_model(const std::filesystem::path& directory, const models::EncoderDecoder& model,
                     const text::Tokenizer& tokenizer) {
  const EncoderDecoderConfig& config = model->config();
  check_special_ids(config);
  require(config.vocab_size >= tokenizer.vocabulary_size(), "model config: vocab_size ", config.vocab_size,
          " is smaller than the tokeniser's ", tokenizer.vocabulary_size());
  if (!std::filesystem::exists(directory)) {
    write_directory_atomically(directory,
                               [&](const std::filesystem::path& fresh) { write_pair_files(fresh, model, tokenizer); });
    return;
  }
  write_pair_files(directory, model, tokenizer);
}

models::EncoderDecoder load_pair_model(const OpenedModel& directory) {
  const EncoderDecoderConfig& config = directory.own_pair_config();
  check_special_ids(config);
  const std::unique_ptr<formats::TensorFile> file = formats::open_tensor_directory(directory.path());
  // Shapes first, without storage: a config that asks for more than the file holds allocates nothing.
  check_weights(*models::EncoderDecoder(config, at::TensorOptions(at::kMeta).dtype(at::kFloat)), *file);
  models::EncoderDecoder model(config, at::TensorOptions(at::kFloat));
  read_weights(*model, *file, false);
  model->eval();
  return model;
}

}  // namespace weft::checkpoint
