// SPDX-License-Identifier: Apache-2.0
// From flags to a model's options.
#include "weft/cli/tasks/encoder_flags.h"

#include "weft/cli/field_flags.h"
#include "weft/cli/threads.h"
#include "weft/core/cpu.h"

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

EncoderSettings settle_encoder(const EncoderFlags& flags, const std::string& command) {
  EncoderRunConfig config;
  formats::update_from_json(config, flags.given, command);
  EncoderSettings settings;
  settings.encoder.attention = config.attention;
  settings.encoder.attention_type = config.attention_type == "config" ? "" : config.attention_type;
  settings.encoder.block_size = config.block_size;
  settings.encoder.random_blocks = config.random_blocks;
  settings.encoder.random = config.random;
  settings.encoder.pad_like_hf = config.pad_like_hf;
  settings.dtype = dtype_of(config.dtype);
  settings.check_finite = config.check_tensors;
  settings.threads = settle_threads(flags.threads);
  return settings;
}

std::string dtype_text(at::ScalarType dtype) { return dtype == at::kBFloat16 ? "bfloat16" : "float32"; }

}  // namespace weft::cli
