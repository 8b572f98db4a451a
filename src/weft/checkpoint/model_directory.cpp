// SPDX-License-Identifier: Apache-2.0
// Model directories.
#include "weft/checkpoint/model_directory.h"

#include "weft/attention/devices/device.h"
#include "weft/checkpoint/attention_files.h"
#include "weft/checkpoint/in_file/wrapped_names.h"
#include "weft/checkpoint/int8/quantization_config.h"
#include "weft/checkpoint/patterns/load_with_attention.h"
#include "weft/checkpoint/tokenizer_files.h"
#include "weft/checkpoint/weights.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/core/version.h"
#include "weft/layers/inference/int8_weight.h"
#include "weft/models/families/causal_rules.h"
#include "weft/models/families/rows.h"

namespace weft::checkpoint {
namespace {

using models::TransformerConfig;

constexpr std::string_view kConfigFile = "config.json";
constexpr std::string_view kWeightsFile = "model.safetensors";
constexpr std::string_view kTokenizerFile = "tokenizer.model";

std::string config_text(const models::CausalRules& rules, const models::LanguageModel& model) {
  formats::Json config = rules.to_json(model->config());
  if (layers::holds_int8(*model)) {
    config["quantization_config"] = quantization_config();
  }
  return formats::print_json(config, 2) + "\n";
}

void save_weights(const std::filesystem::path& directory, const models::CausalRules& rules,
                  const models::LanguageModel& model) {
  save_tensors(directory / kWeightsFile, named_weights(*model, rules.weights(model->config())),
               {{"format", "pt"}, {"weft_version", std::string(kVersion)}});
}

// The config comes last: without it the directory is no model, whatever else is there.
void write_files(const std::filesystem::path& directory, const models::LanguageModel& model,
                 const text::Tokenizer& tokenizer) {
  tokenizer.save(directory);
  const models::CausalRules& rules = *models::weft_family().causal;
  save_weights(directory, rules, model);
  write_attention_files(directory, *model);
  write_file_atomically(directory / kConfigFile, config_text(rules, model));
}

/// Without its config a directory is no model: nobody pairs the old config with the new weights if the write ends half
/// way.
void withdraw_other_model(const std::filesystem::path& directory, const models::LanguageModel& model) {
  const TransformerConfig& config = model->config();
  const ModelFile file(directory, kConfigFile);
  if (file.exists() && read_file(file) != config_text(*models::weft_family().causal, model)) {
    std::filesystem::remove(file.path());
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

TransformerConfig load_config(const std::filesystem::path& directory) { return load_config(open_model(directory)); }
TransformerConfig load_config(const OpenedModel& directory) { return directory.own_config(); }

const models::CausalRules& predictor_rules(const OpenedModel& directory) { return directory.predictor(); }

std::unique_ptr<text::Tokenizer> load_tokenizer(const OpenedModel& directory) {
  directory.need(Ability::kPredict);
  std::unique_ptr<text::Tokenizer> tokenizer = text::load_tokenizer(directory.path(), directory.json());
  check_tokenizer(load_config(directory), *tokenizer, quote(directory.path().native(), 4096));
  return tokenizer;
}

void save_model(const std::filesystem::path& directory, const models::LanguageModel& model,
                const text::Tokenizer& tokenizer) {
  check_tokenizer(model->config(), tokenizer, "model config");
  if (!std::filesystem::exists(directory)) {
    write_directory_atomically(directory,
                               [&](const std::filesystem::path& fresh) { write_files(fresh, model, tokenizer); });
    return;
  }
  withdraw_other_model(directory, model);
  write_files(directory, model, tokenizer);
}

void save_model_as(const models::CausalRules& form, const std::filesystem::path& directory,
                   const models::LanguageModel& model, const std::filesystem::path& files_from) {
  const std::string config = config_text(form, model);
  write_directory_atomically(directory, [&](const std::filesystem::path& fresh) {
    for (const char* name : kHuggingFaceTokenizerFiles) {
      copy_if_there(files_from, name, fresh);
    }
    for (const models::RenamedFile& file : form.tokenizer_files) {
      copy_if_there(files_from, file.weft, fresh, file.theirs);
    }
    save_weights(fresh, form, model);
    write_file_atomically(fresh / kConfigFile, config);
  });
}

namespace {

models::LanguageModel load_as(const OpenedModel& directory, const TransformerConfig& config,
                              const LoadOptions& options) {
  WeightMap map = predictor_rules(directory).weights(config);
  map.asked_attention = joined(options.attention, "`, `");
  map.has_codes = directory.holds_int8();
  // Shapes first, without storage: a config that asks for more than the file holds allocates nothing.
  const models::LanguageModel shape(config, at::TensorOptions(at::kMeta).dtype(options.dtype));
  const std::unique_ptr<formats::TensorFile> opened = open_weights(directory.path(), names_in_file(*shape, map));
  const formats::TensorFile& file = *opened;
  check_weights(*shape, file, map);
  models::LanguageModel model(config, at::TensorOptions(options.dtype));
  read_weights(*model, file, {options.check_finite, options.int8 || directory.computes_int8()}, map);
  model->to(attention::opening_device());
  model->eval();
  return model;
}

}  // namespace

models::LanguageModel load_model(const OpenedModel& directory, const LoadOptions& options) {
  TransformerConfig config = load_config(directory);
  if (!options.attention.empty()) {
    config.attention = options.attention;
    validate(config, quote(directory.path().string(), 4096));
  }
  return load_as(directory, config, options);
}

models::LanguageModel load_with_attention(const OpenedModel& directory, const std::vector<std::string>& attention,
                                          const std::filesystem::path& graphs) {
  TransformerConfig config = load_config(directory);
  config.attention = attention;
  config.directory = graphs;
  validate(config, quote(directory.path().string(), 4096));
  return load_as(directory, config, {});
}

models::LanguageModel load_model(const std::filesystem::path& directory, const LoadOptions& options) {
  return load_model(open_model(directory), options);
}

}  // namespace weft::checkpoint
