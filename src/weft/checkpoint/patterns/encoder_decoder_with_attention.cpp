// SPDX-License-Identifier: Apache-2.0
// A new model of the same config, whose parameters have the same names.
#include "weft/checkpoint/patterns/encoder_decoder_with_attention.h"

#include <algorithm>

#include "weft/checkpoint/patterns/copied_weights.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::checkpoint {
namespace {

// `list` becomes `wanted`, where that is given; else it must not need the folder that it was read in.
void replace(std::vector<std::string>& list, const std::vector<std::string>& wanted, const char* name) {
  if (!wanted.empty()) {
    list = wanted;
    return;
  }
  const auto found = std::find_if(list.begin(), list.end(), [](const std::string& expression) {
    return expression.find('"') != std::string::npos;
  });
  require(
      found == list.end(), "attention: ", name, " stays ", [&] { return found == list.end() ? "" : quote(*found); },
      ", which names a file beside the model's config, so that other patterns cannot come from elsewhere: give ", name,
      ", too");
}

}  // namespace

models::EncoderDecoder encoder_decoder_with_attention(const models::EncoderDecoder& source,
                                                      const PairAttention& attention) {
  models::EncoderDecoderConfig config = source->config();
  replace(config.encoder_attention, attention.encoder, "encoder_attention");
  replace(config.decoder_attention, attention.decoder, "decoder_attention");
  replace(config.cross_attention, attention.cross, "cross_attention");
  if (!attention.encoder.empty()) {
    config.encoder_full_until = 0;  // belonged to the pattern that is replaced
  }
  config.directory = attention.graphs;
  models::validate(config, "attention");
  models::EncoderDecoder model(config, source->parameters().front().options().requires_grad(false));
  copy_weights(*source, *model);
  if (source->head_bias().defined()) {
    model->set_head_bias(source->head_bias());
  }
  model->eval();
  return model;
}

}  // namespace weft::checkpoint
