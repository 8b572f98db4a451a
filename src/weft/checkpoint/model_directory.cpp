// SPDX-License-Identifier: Apache-2.0
// Model directories.
#include "weft/checkpoint/model_directory.h"

#include <algorithm>

#include "weft/checkpoint/attention_files.h"
#include "weft/checkpoint/model_kind.h"
#include "weft/checkpoint/tokenizer_files.h"
#include "weft/checkpoint/weights.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/core/version.h"
#include "weft/formats/config_json.h"

namespace weft::checkpoint {
namespace {

using formats::Json;
using models::TransformerConfig;

constexpr std::string_view kConfigFile = "config.json";
constexpr std::string_view kWeightsFile = "model.safetensors";
constexpr std::string_view kTokenizerFile = "tokenizer.model";
constexpr std::string_view kModelType = "weft";

/// Fields that change how a model runs and not what it is: a config may leave them out.
constexpr std::string_view kOptional[] = {"loss_chunk_size", "gradient_checkpointing"};

std::string_view architecture_of(const TransformerConfig& config) {
  return config.is_decoder ? "WeftForCausalLM" : "WeftForMaskedLM";
}

std::string config_text(const TransformerConfig& config) {
  Json json = {{"architectures", {architecture_of(config)}}, {"model_type", kModelType}, {"weft_version", kVersion}};
  json.update(formats::to_json(config));
  return json.dump(2) + "\n";
}

// A config of another version may lack a field whose default has changed since: none is filled in silently.
void check_present(const Json& json, const std::string& where) {
  TransformerConfig::fields([&](const auto& field) {
    const bool optional = std::find(std::begin(kOptional), std::end(kOptional), field.name) != std::end(kOptional);
    if (!optional && !json.contains(std::string(field.name))) {
      fail(ErrorKind::kFormat, where, ": ", field.name, " is missing (", field.help, ")");
    }
  });
}

void check_architectures(const Json& json, const TransformerConfig& config, const std::string& where) {
  const auto found = json.find("architectures");
  if (found != json.end() && *found != Json::array({architecture_of(config)})) {
    fail(ErrorKind::kFormat, where, ": architectures must be [\"", architecture_of(config), "\"] with is_decoder ",
         config.is_decoder ? "true" : "false", ", found ",
         quote(found->dump(-1, ' ', true, Json::error_handler_t::replace)));
  }
}

void write_weights(const std::filesystem::path& directory, const models::LanguageModel& model) {
  NamedTensors tensors;
  for (const auto& parameter : model->named_parameters()) {
    tensors.emplace_back(parameter.key(), parameter.value());
  }
  save_tensors(directory / kWeightsFile, tensors, {{"format", "pt"}, {"weft_version", std::string(kVersion)}});
}

// The config comes last: without it the directory is no model, whatever else is there.
void write_files(const std::filesystem::path& directory, const models::LanguageModel& model,
                 const text::Tokenizer& tokenizer) {
  tokenizer.save(directory);
  write_weights(directory, model);
  write_attention_files(directory, *model);
  write_file_atomically(directory / kConfigFile, config_text(model->config()));
}

/// Without its config a directory is no model: nobody pairs the old config with the new weights if the write ends half
/// way.
void withdraw_other_model(const std::filesystem::path& directory, const TransformerConfig& config) {
  const std::filesystem::path file = directory / kConfigFile;
  if (std::filesystem::exists(file) && read_file(file) != config_text(config)) {
    std::filesystem::remove(file);
  }
  if (config.tokenizer_class != "sentencepiece") {
    std::filesystem::remove(directory / kTokenizerFile);
  }
  if (config.tokenizer_class != "huggingface") {
    for (const char* name : kHuggingFaceTokenizerFiles) {
      std::filesystem::remove(directory / name);
    }
  }
}

}  // namespace

void check_tokenizer(const TransformerConfig& config, const text::Tokenizer& tokenizer, std::string_view where) {
  require(config.tokenizer_class == tokenizer.kind(), where, ": tokenizer_class is ", config.tokenizer_class,
          ", but the tokeniser is ", tokenizer.kind());
  require(config.vocab_size >= tokenizer.vocabulary_size(), where, ": vocab_size ", config.vocab_size,
          " is smaller than the tokeniser's ", tokenizer.vocabulary_size());
}

TransformerConfig load_config(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / kConfigFile;
  const std::string where = file.string();
  const Json json = read_model_config(directory);
  require_own_model(json, directory);
  TransformerConfig config;
  formats::update_from_json(config, json, where, {"architectures", "model_type", "weft_version"});
  check_present(json, where);
  check_architectures(json, config, where);
  config.directory = directory;
  models::validate(config, where);
  return config;
}

void save_model(const std::filesystem::path& directory, const models::LanguageModel& model,
                const text::Tokenizer& tokenizer) {
  check_tokenizer(model->config(), tokenizer, "model config");
  if (!std::filesystem::exists(directory)) {
    write_directory_atomically(directory,
                               [&](const std::filesystem::path& fresh) { write_files(fresh, model, tokenizer); });
    return;
  }
  withdraw_other_model(directory, model->config());
  write_files(directory, model, tokenizer);
}

models::LanguageModel load_model(const std::filesystem::path& directory, const LoadOptions& options) {
  const TransformerConfig config = load_config(directory);
  const std::unique_ptr<formats::TensorFile> opened = formats::open_tensor_directory(directory);
  const formats::TensorFile& file = *opened;
  // Shapes first, without storage: a config that asks for more than the file holds allocates nothing.
  check_weights(*models::LanguageModel(config, at::TensorOptions(at::kMeta).dtype(at::kFloat)), file);
  models::LanguageModel model(config, at::TensorOptions(options.device).dtype(at::kFloat));
  copy_weights(*model, file, options.check_finite);
  model->eval();
  return model;
}

}  // namespace weft::checkpoint
