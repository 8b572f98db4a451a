// SPDX-License-Identifier: Apache-2.0
// A new model of the same config, whose parameters have the same names.
#include "weft/checkpoint/patterns/encoder_with_attention.h"

#include <ATen/core/grad_mode.h>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/layers/inference/int8_weight.h"

namespace weft::checkpoint {

models::EncoderModel encoder_with_attention(const models::EncoderModel& source,
                                            const std::vector<std::string>& attention,
                                            const std::filesystem::path& graphs) {
  models::EncoderConfig config = source->config();
  config.attention = attention;
  config.directory = graphs;
  models::EncoderModel model = models::make_encoder(config, source->head(), 0);
  const at::NoGradGuard without_gradients;
  layers::share_int8(*source, *model);
  const auto old = source->named_parameters();
  for (auto& parameter : model->named_parameters()) {
    const at::Tensor* found = old.find(parameter.key());
    require(found != nullptr, "convert: the attention asked for has weights of its own, ", Quoted(parameter.key()),
            ", which the model does not have");
    parameter.value().copy_(*found);
  }
  model->eval();
  return model;
}

}  // namespace weft::checkpoint
