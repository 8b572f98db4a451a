// SPDX-License-Identifier: Apache-2.0
// Encoder-decoder directories: loading and saving.
#include "weft/checkpoint/encoder_decoder/directory.h"

#include <array>
#include <functional>

#include "weft/attention/devices/device.h"
#include "weft/checkpoint/attention_files.h"
#include "weft/checkpoint/encoder_decoder/weights.h"
#include "weft/checkpoint/in_file/wrapped_names.h"
#include "weft/checkpoint/int8/quantization_config.h"
#include "weft/checkpoint/tokenizer_files.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/core/version.h"
#include "weft/layers/inference/int8_weight.h"
#include "weft/models/families/pair_rules.h"

namespace weft::checkpoint {
namespace {

using models::EncoderDecoder;
using models::EncoderDecoderConfig;

/// What belongs to a model beside config and weights, and is not in kHuggingFaceTokenizerFiles.
constexpr std::array kCompanions{"source.spm", "target.spm", "target_vocab.json", "tokenizer.model"};

void copy_files(const std::filesystem::path& from, const std::filesystem::path& to, FilesTaken taken) {
  std::error_code error;
  if (from.empty() || std::filesystem::equivalent(from, to, error)) {
    return;
  }
  for (const char* name : kHuggingFaceTokenizerFiles) {
    copy_if_there(from, name, to);
  }
  for (const char* name : kCompanions) {
    copy_if_there(from, name, to);
  }
  if (taken == FilesTaken::kTokenizerAndGeneration) {
    copy_if_there(from, "generation_config.json", to);
  }
}

using Companions = std::function<void(const std::filesystem::path& directory)>;

// The config comes last: without it the directory is no model, whatever else is there.
void write_pair(const std::filesystem::path& directory, const EncoderDecoder& model, const Companions& companions) {
  companions(directory);
  save_tensors(directory / "model.safetensors", encoder_decoder_tensors(*model),
               {{"format", "pt"}, {"weft_version", std::string(kVersion)}});
  write_attention_files(directory, *model);
  formats::Json config = models::pair_to_json(*model);
  if (layers::holds_int8(*model)) {
    config["quantization_config"] = quantization_config();
  }
  write_file_atomically(directory / "config.json", formats::print_json(config, 2) + "\n");
}

void save(const std::filesystem::path& directory, const EncoderDecoder& model, const Companions& companions) {
  if (!std::filesystem::exists(directory)) {
    write_directory_atomically(directory,
                               [&](const std::filesystem::path& fresh) { write_pair(fresh, model, companions); });
    return;
  }
  refuse_other_weights(directory);
  // Nobody pairs the old config with the new weights if the write ends half way.
  std::filesystem::remove(directory / "config.json");
  write_pair(directory, model, companions);
}

}  // namespace

EncoderDecoder load_encoder_decoder(const OpenedModel& directory, const EncoderDecoderLoadOptions& options) {
  EncoderDecoderConfig config = load_encoder_decoder_config(directory);
  const std::unique_ptr<formats::TensorFile> opened = open_weights(directory.path(), encoder_decoder_anchors(config));
  const EncoderDecoderFile file = describe_encoder_decoder(*opened, config);
  config.share_embeddings = file.shares;
  config.tie_word_embeddings = file.ties;
  config.dropout = options.dropout.value_or(config.dropout);
  config.attention_dropout = options.attention_dropout.value_or(config.attention_dropout);
  WeightMap map = encoder_decoder_map(file, config);
  map.has_codes = directory.holds_int8();
  // Shapes first, without storage: a config that asks for more than the file holds allocates nothing.
  check_weights(*EncoderDecoder(config, at::TensorOptions(at::kMeta).dtype(options.dtype), options.encoder), *opened,
                map);
  EncoderDecoder model(config, at::TensorOptions(options.dtype), options.encoder);
  read_weights(*model, *opened, {options.check_finite, options.int8 || directory.computes_int8()}, map);
  if (const at::Tensor bias = read_head_bias(*opened, config, options.check_finite); bias.defined()) {
    model->set_head_bias(bias);
  }
  model->to(attention::opening_device());
  model->eval();
  return model;
}

EncoderDecoder load_encoder_decoder(const std::filesystem::path& directory, const EncoderDecoderLoadOptions& options) {
  return load_encoder_decoder(open_model(directory), options);
}

EncoderDecoderConfig load_encoder_decoder_config(const OpenedModel& directory) {
  return directory.encoder_decoder_config();
}

std::unique_ptr<text::PairTokenizer> load_pair_tokenizer(const OpenedModel& directory) {
  const EncoderDecoderConfig config = load_encoder_decoder_config(directory);
  return models::pair_rules(config).load_tokenizer(config, directory.path());
}

void save_encoder_decoder(const std::filesystem::path& directory, const EncoderDecoder& model,
                          const std::filesystem::path& files_from, FilesTaken taken) {
  save(directory, model, [&](const std::filesystem::path& fresh) { copy_files(files_from, fresh, taken); });
}

void save_encoder_decoder(const std::filesystem::path& directory, const EncoderDecoder& model,
                          const text::Tokenizer& tokenizer) {
  const EncoderDecoderConfig& config = model->config();
  require(config.tokenizer_class == tokenizer.kind(), "model config: tokenizer_class is ", config.tokenizer_class,
          ", but the tokeniser is ", tokenizer.kind());
  require(config.vocab_size >= tokenizer.vocabulary_size(), "model config: vocab_size ", config.vocab_size,
          " is smaller than the tokeniser's ", tokenizer.vocabulary_size());
  save(directory, model, [&](const std::filesystem::path& fresh) { tokenizer.save(fresh); });
}

void save_encoder_decoder(const std::filesystem::path& directory, const EncoderDecoder& model,
                          const text::PairTokenizer& tokenizer) {
  if (const text::Tokenizer* const one = models::pair_rules(model->config()).one_tokenizer(tokenizer)) {
    save_encoder_decoder(directory, model, *one);
    return;
  }
  save(directory, model, [&](const std::filesystem::path& fresh) { tokenizer.save(fresh); });
}

}  // namespace weft::checkpoint
