// SPDX-License-Identifier: Apache-2.0
// Encoder directories: loading and saving.
#include "weft/checkpoint/encoder_directory.h"

#include <algorithm>

#include "weft/attention/devices/device.h"
#include "weft/checkpoint/attention_files.h"
#include "weft/checkpoint/encoder_names.h"
#include "weft/checkpoint/encoder_weights.h"
#include "weft/checkpoint/int8/quantization_config.h"
#include "weft/checkpoint/tokenizer_files.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/version.h"
#include "weft/layers/inference/int8_weight.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/json/encoder_json.h"
#include "weft/models/stack/seeded_generator.h"

namespace weft::checkpoint {
namespace {

using models::EncoderConfig;
using models::EncoderModel;
using models::Head;

std::filesystem::path config_path(const std::filesystem::path& directory) { return directory / "config.json"; }

/// The config as the file's tensors complete it.
EncoderConfig settle(EncoderConfig config, Head head, const EncoderFile& file, const EncoderLoadOptions& options) {
  if (!options.labels.empty()) {
    config.id2label = options.labels;
    config.problem_type.clear();
  }
  config.with_pooler = models::reads_pooler(models::head_plan(config, head), head) || has_pooler(file, config);
  if (head == Head::kMaskedLanguageModel && config.tie_word_embeddings && has_untied_decoder(file, config)) {
    config.tie_word_embeddings = false;
  }
  return config;
}

/// Values for what the file lacks.
void fill_new_tensors(EncoderModel& model, const EncoderFile& file, const std::vector<std::string>& missing,
                      const EncoderLoadOptions& options) {
  std::uint64_t seed = options.seed;
  for (const std::string& parameter : missing) {
    models::initialize(*model, seed++, parameter);
    if (options.new_tensors != nullptr) {
      const HuggingFaceNames names = hugging_face_names(model->config(), model->head(), parameter, file.prefixed);
      options.new_tensors->insert(options.new_tensors->end(), names.parts.begin(), names.parts.end());
    }
  }
}

/// Tensors of a class that nobody published, which are read by nobody here.
void tell_of_foreign_tensors(const EncoderFile& file, const EncoderConfig& config) {
  const std::string prefix = concat(models::layout_of(config).base_prefix, ".");
  std::vector<std::string> foreign;
  for (const formats::TensorInfo& info : file.file.tensors()) {
    if (!info.name.starts_with(prefix) && !is_of_a_head(config, info.name) &&
        !checkpoint::is_passed_over(config, info.name)) {
      foreign.push_back(info.name);
    }
  }
  if (file.other_class && file.prefixed && !foreign.empty()) {
    log_warning(file.file.path().string(), ": ", foreign.size(), " tensors are part of no head that Weft has, and are ",
                "not used: ", quoted_list(foreign, 3));
  }
}

void copy_tokenizer(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code error;
  if (from.empty() || std::filesystem::equivalent(from, to, error)) {
    return;
  }
  for (const char* name : kHuggingFaceTokenizerFiles) {
    copy_if_there(from, name, to);
  }
}

// The config comes last: without it the directory is no model, whatever else is there.
void write_encoder(const std::filesystem::path& directory, const EncoderModel& model,
                   const std::filesystem::path& tokenizer_from) {
  copy_tokenizer(tokenizer_from, directory);
  save_tensors(directory / "model.safetensors", encoder_tensors(*model),
               {{"format", "pt"}, {"weft_version", std::string(kVersion)}});
  write_attention_files(directory, *model);
  formats::Json config = models::encoder_config_to_json(*model);
  if (layers::holds_int8(*model)) {
    config["quantization_config"] = quantization_config();
  }
  write_file_atomically(config_path(directory), formats::print_json(config, 2) + "\n");
}

}  // namespace

EncoderConfig load_encoder_config(const std::filesystem::path& directory) {
  return load_encoder_config(open_model(directory));
}

EncoderConfig load_encoder_config(const OpenedModel& directory) { return directory.encoder_config(); }

EncoderModel load_encoder(const OpenedModel& directory, const EncoderLoadOptions& options) {
  EncoderConfig read = load_encoder_config(directory);
  const Head head = options.head ? *options.head : directory.head();
  const std::unique_ptr<formats::TensorFile> opened = open_encoder_weights(directory.path(), read);
  EncoderFile file = describe_encoder_file(*opened, read, head);
  file.new_head = options.allow_new_head;
  file.attention = options.encoder.attention;
  const EncoderConfig config = settle(read, head, file, options);
  WeightMap map = encoder_weight_map(file, config, head);
  map.has_codes = directory.holds_int8();
  // Shapes first, without storage: a config that asks for more than the file holds allocates nothing.
  const EncoderModel shape(config, head, options.encoder, at::TensorOptions(at::kMeta).dtype(options.dtype));
  const std::vector<std::string> missing = check_weights(*shape, *opened, map);
  tell_of_foreign_tensors(file, config);
  const models::SeededGenerator for_mechanisms(options.seed);
  EncoderModel model(config, head, options.encoder, at::TensorOptions(options.dtype));
  read_weights(*model, *opened, {options.check_finite, options.int8 || directory.computes_int8()}, map, missing);
  fill_new_tensors(model, file, missing, options);
  model->to(attention::opening_device());
  model->eval();
  return model;
}

EncoderModel load_encoder(const std::filesystem::path& directory, const EncoderLoadOptions& options) {
  return load_encoder(open_model(directory), options);
}

void save_encoder(const std::filesystem::path& directory, const EncoderModel& model,
                  const std::filesystem::path& tokenizer_from) {
  if (!std::filesystem::exists(directory)) {
    write_directory_atomically(
        directory, [&](const std::filesystem::path& fresh) { write_encoder(fresh, model, tokenizer_from); });
    return;
  }
  refuse_other_weights(directory);
  // Nobody pairs the old config with the new weights if the write ends half way.
  std::filesystem::remove(config_path(directory));
  write_encoder(directory, model, tokenizer_from);
}

}  // namespace weft::checkpoint
