// SPDX-License-Identifier: Apache-2.0
// From what people say to a model's options.
#include "weft/tasks/encoder_settings.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "weft/attention/devices/device.h"
#include "weft/attention/devices/device_work.h"
#include "weft/checkpoint/int8/quantization_config.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/system/usage_error.h"
#include "weft/formats/config_json.h"
#include "weft/training/run/run_of_model.h"

namespace weft::tasks {
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

/// `beside_int8`: the products of linear layers are int8, which rounds more than bfloat16 does.
at::ScalarType dtype_of(const std::string& name, bool beside_int8) {
  const bool follows_device = name == "auto" || (name == "run" && beside_int8);
  const bool narrow =
      name == "bfloat16" || (follows_device && attention::is_fast_at_bfloat16(attention::opening_device()));
  return narrow ? at::kBFloat16 : at::kFloat;
}

bool follows_run(const EncoderRunConfig& config) { return config.dtype == "run" || config.dtype == "auto"; }

/// Types of numbers, and how weights are kept. A run's weights stay as they are; `beside_int8` answers for a model of
/// no run.
template <typename BesideInt8>
EncoderSettings number_settings(const EncoderRunConfig& config, const std::filesystem::path& directory,
                                const BesideInt8& beside_int8) {
  EncoderSettings settings;
  if (const auto own = follows_run(config) ? training::run_dtype(directory) : std::nullopt) {
    settings.products = *own;
  } else {
    settings.dtype = dtype_of(config.dtype, beside_int8());
  }
  settings.int8 = config.weights == "int8";
  settings.check_finite = config.check_tensors;
  return settings;
}

// Settings of the pattern that `attention` replaces.
void check_replaced(const EncoderRunConfig& config) {
  const EncoderRunConfig usual;
  const std::array<std::pair<std::string_view, bool>, 4> own = {
      {{"attention_type", config.attention_type != usual.attention_type},
       {"block_size", config.block_size != usual.block_size},
       {"random_blocks", config.random_blocks != usual.random_blocks},
       {"random", config.random != usual.random}}};
  for (const auto& [name, is_given] : own) {
    if (is_given && !config.attention.empty()) {
      throw UsageError(concat(option(name), " is a setting of the model's own attention, which ", option("attention"),
                              " ", quote(config.attention), " replaces"),
                       "leave one of them out");
    }
  }
}

}  // namespace

EncoderSettings encoder_settings(const EncoderRunConfig& config, const std::filesystem::path& directory) {
  check_replaced(config);
  EncoderSettings settings = number_settings(config, directory, [&] {
    return config.weights == "int8" || (follows_run(config) && checkpoint::has_int8_weights(directory));
  });
  settings.encoder.attention = config.attention;
  settings.encoder.fields = replaced_fields(config);
  settings.encoder.random = config.random;
  settings.encoder.pad_like_hf = config.pad_like_hf;
  return settings;
}

EncoderSettings decoder_settings(const EncoderRunConfig& config, const std::filesystem::path& directory) {
  return number_settings(config, directory, [] { return false; });
}

at::ScalarType product_type(const EncoderSettings& settings) {
  return settings.products == "bfloat16" ? at::kBFloat16 : settings.dtype;
}

std::string dtype_text(at::ScalarType dtype) { return dtype == at::kBFloat16 ? "bfloat16" : "float32"; }

TaskModelOptions model_options(const EncoderSettings& settings) {
  TaskModelOptions options;
  options.encoder = settings.encoder;
  options.dtype = settings.dtype;
  options.products = settings.products;
  options.int8 = settings.int8;
  options.check_finite = settings.check_finite;
  return options;
}

checkpoint::LoadOptions decoder_options(const EncoderSettings& settings) {
  return {.check_finite = settings.check_finite, .int8 = settings.int8, .dtype = settings.dtype};
}

SequenceModelOptions sequence_options(const EncoderSettings& settings, generation::GenerationConfig generation) {
  return {.load = {.encoder = settings.encoder,
                   .dtype = settings.dtype,
                   .check_finite = settings.check_finite,
                   .int8 = settings.int8},
          .products = settings.products,
          .generation = std::move(generation)};
}

}  // namespace weft::tasks
