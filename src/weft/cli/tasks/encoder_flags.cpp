// SPDX-License-Identifier: Apache-2.0
// From flags to a model's options.
#include "weft/cli/tasks/encoder_flags.h"

#include <optional>

#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/threads.h"
#include "weft/core/cpu.h"
#include "weft/training/run/run_of_model.h"

namespace weft::cli {
namespace {

formats::Json replaced_fields(const EncoderRunConfig& config) {
  formats::Json fields = formats::Json::object();
  if (config.attention_type != "config") {
    fields["attention_type"] = config.attention_type;
  }
  if (config.block_size > 0) {
    fields["block_size"] = config.block_size;
  }
  if (config.random_blocks >= 0) {
    fields["num_random_blocks"] = config.random_blocks;
  }
  return fields;
}

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
  settings.encoder.fields = replaced_fields(config);
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

}  // namespace weft::cli
