// SPDX-License-Identifier: Apache-2.0
// From flags to a model's options.
#include "weft/cli/tasks/encoder_flags.h"

#include <iostream>
#include <optional>

#include "weft/cli/field_flags.h"
#include "weft/cli/output.h"
#include "weft/cli/threads.h"
#include "weft/core/cpu.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/formats/json_members.h"
#include "weft/text/hugging_face.h"
#include "weft/text/hugging_face/tokenizer_classes.h"
#include "weft/training/run/run_of_model.h"

namespace weft::cli {
namespace {

at::ScalarType dtype_of(const std::string& name) {
  const bool narrow = name == "bfloat16" || (name == "auto" && has_fast_bfloat16());
  return narrow ? at::kBFloat16 : at::kFloat;
}

}  // namespace

void add_encoder_flags(CLI::App& app, EncoderFlags& flags) {
  add_fields<EncoderRunConfig>(app, {.title = "Model"}, flags.given);
  add_threads_flag(app, flags.threads);
}

EncoderSettings encoder_settings(const EncoderFlags& flags, const std::string& command,
                                 const std::filesystem::path& directory) {
  EncoderRunConfig config;
  formats::update_from_json(config, flags.given, command);
  EncoderSettings settings;
  settings.encoder.attention = config.attention;
  settings.encoder.attention_type = config.attention_type == "config" ? "" : config.attention_type;
  settings.encoder.block_size = config.block_size;
  settings.encoder.random_blocks = config.random_blocks;
  settings.encoder.random = config.random;
  settings.encoder.pad_like_hf = config.pad_like_hf;
  const bool follows_run = config.dtype == "run" || config.dtype == "auto";
  if (const auto own = follows_run ? training::run_dtype(directory) : std::nullopt) {
    settings.products = *own;
  } else {
    settings.dtype = dtype_of(config.dtype);
  }
  settings.check_finite = config.check_tensors;
  settings.threads = apply_threads(flags.threads);
  return settings;
}

at::ScalarType product_type(const EncoderSettings& settings) {
  return settings.products == "bfloat16" ? at::kBFloat16 : settings.dtype;
}

std::string dtype_text(at::ScalarType dtype) { return dtype == at::kBFloat16 ? "bfloat16" : "float32"; }

void require_no_model(const std::filesystem::path& out) {
  std::error_code error;
  if (std::filesystem::exists(out / "config.json", error)) {
    throw Error(ErrorKind::kArgument, concat(quote(out.native(), 4096), ": already holds a model"),
                "name another directory, or move that one away");
  }
  if (std::filesystem::exists(out, error) && !std::filesystem::is_directory(out, error)) {
    throw Error(ErrorKind::kArgument, concat(quote(out.native(), 4096), ": is there and is no directory"),
                "name a directory, or move that file away");
  }
}

void fit_tokenizer(const std::filesystem::path& directory, std::int64_t length, const std::string& family) {
  const ModelFile file(directory, "tokenizer_config.json");
  if (!file.exists() && !text::HuggingFaceTokenizer::present_in(directory)) {
    return;
  }
  formats::Json settings = file.exists() ? formats::read_json_object(file) : formats::Json::object();
  settings["model_max_length"] = length;
  const text::TokenizerClass* const usual = text::tokenizer_class_of(family);
  if (!settings.contains("tokenizer_class") && usual != nullptr) {
    settings["tokenizer_class"] = usual->name;
  }
  write_file_atomically(file.path(), formats::print_json(settings, 2) + "\n");
}

namespace {

struct NewModel {
  std::string family;
  std::string head;
  std::int64_t parameters = 0;
  std::int64_t positions = 0;
};

void print_made(const std::filesystem::path& out, const NewModel& made, bool json) {
  if (json) {
    print_json({{"out", out.native()},
                {"family", made.family},
                {"head", made.head},
                {"parameters", made.parameters},
                {"positions", made.positions}});
    return;
  }
  std::cout << name_table({{"directory", out.native()},
                           {"family", made.family},
                           {"head", made.head},
                           {"parameters", digits(made.parameters)},
                           {"positions", digits(made.positions) + " tokens"}});
}

}  // namespace

void print_new_model(const std::filesystem::path& out, const models::EncoderModel& model, bool json) {
  const models::EncoderConfig& config = model->config();
  print_made(out,
             {config.model_type, std::string(models::to_string(model->head())), model->parameter_count(),
              config.maximum_length()},
             json);
}

void print_new_model(const std::filesystem::path& out, const models::EncoderDecoder& model, bool json) {
  const models::EncoderDecoderConfig& config = model->config();
  print_made(out, {config.model_type, "encoder-decoder", model->parameter_count(), config.max_source_positions}, json);
}

void print_new_model(const std::filesystem::path& out, const models::LanguageModel& model, std::string_view family,
                     bool json) {
  print_made(out, {std::string(family), "decoder", model->parameter_count(), model->config().max_position_embeddings},
             json);
}

}  // namespace weft::cli
