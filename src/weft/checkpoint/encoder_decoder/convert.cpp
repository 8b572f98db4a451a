// SPDX-License-Identifier: Apache-2.0
// The same weights under other settings.
#include "weft/checkpoint/encoder_decoder/convert.h"

#include <ATen/ops/cat.h>
#include <c10/core/GradMode.h>

#include "weft/checkpoint/patterns/copied_weights.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/models/families/pair_rules.h"

namespace weft::checkpoint {
namespace {

using models::EncoderDecoder;
using models::EncoderDecoderConfig;

/// Makes the config that of another family.
void become(EncoderDecoderConfig& config, const std::string& to) {
  std::string made;
  for (const models::Family* family : models::pair_families()) {
    if (family->pair->adapt != nullptr) {
      made += concat(made.empty() ? "" : " and ", family->name);
      if (family->name == to) {
        family->pair->adapt(config);
        return;
      }
    }
  }
  fail(ErrorKind::kArgument, "convert makes ", made, " out of an encoder-decoder, found ", quote(to));
}

EncoderDecoderConfig longer_config(const EncoderDecoder& source, const PairConvertOptions& options) {
  EncoderDecoderConfig config = source->config();
  if (!options.to.empty()) {
    become(config, options.to);
  }
  if (!options.attention_window.empty()) {
    constexpr std::string_view kWindow = "attention_window";
    require(config.own.has(kWindow) && options.attention.empty(), "convert: ", kWindow, " is for an ",
            models::pairs_with(kWindow), " that keeps its windows, but the model is ", config.model_type,
            options.attention.empty() ? "" : " and attention replaces them");
    config.own.set(kWindow, options.attention_window);
    models::pair_rules(config).complete_own(config);
  }
  if (!options.attention.empty()) {
    config.encoder_attention = options.attention;
    config.encoder_full_until = 0;  // belonged to the pattern that is replaced
    forget_directory(config);
  }
  if (options.length > 0) {
    require(options.length >= config.max_source_positions && options.length <= (1 << 24), "length must be from the ",
            config.max_source_positions, " positions of a source that the model has to 16777216, found ",
            options.length);
    config.max_source_positions = options.length;
    if (models::pair_rules(config).has_one_length()) {
      config.max_target_positions = options.length;
    }
  }
  models::validate(config, "convert");
  return config;
}

/// The positions of `table` over and over until `rows` is full, behind the new table's idle rows, of which the old one
/// has at least as many.
at::Tensor repeated_positions(const at::Tensor& table, std::int64_t old_offset, std::int64_t offset,
                              std::int64_t rows) {
  const at::Tensor positions = table.narrow(0, old_offset, table.size(0) - old_offset);
  const std::int64_t needed = rows - offset;
  const std::int64_t copies = (needed + positions.size(0) - 1) / positions.size(0);
  return at::cat({table.narrow(0, 0, offset), positions.repeat({copies, 1}).narrow(0, 0, needed)});
}

}  // namespace

void forget_directory(EncoderDecoderConfig& config) {
  for (const auto& [name, patterns] :
       {std::pair{"decoder_attention", &config.decoder_attention}, {"cross_attention", &config.cross_attention}}) {
    for (const std::string& pattern : *patterns) {
      require(pattern.find('"') == std::string::npos, name, " ", Quoted(pattern),
              " names a file beside the config, so the encoder's pattern cannot come from somewhere else: write it "
              "into config.json");
    }
  }
  config.directory.clear();
}

EncoderDecoder convert_encoder_decoder(const EncoderDecoder& source, const PairConvertOptions& options) {
  const EncoderDecoderConfig config = longer_config(source, options);
  const at::Tensor first = source->parameters().front();
  EncoderDecoder model(config, first.options().requires_grad(false));
  const at::NoGradGuard without_gradients;
  const auto old = source->named_parameters();
  for (auto& parameter : model->named_parameters()) {
    std::string name = parameter.key();
    if (const auto at = name.find("global_qkv"); at != std::string::npos && old.find(name) == nullptr) {
      name.replace(at, std::string_view("global_qkv").size(), "qkv");
    }
    const at::Tensor& value = found_weight(old.find(name), parameter.key());
    const bool positions = name.ends_with("embeddings.positions");
    parameter.value().copy_(positions ? repeated_positions(value, source->config().position_offset,
                                                           config.position_offset, parameter.value().size(0))
                                      : value);
  }
  if (source->head_bias().defined()) {
    model->set_head_bias(source->head_bias());
  }
  model->eval();
  return model;
}

}  // namespace weft::checkpoint
