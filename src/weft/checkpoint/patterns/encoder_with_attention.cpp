// SPDX-License-Identifier: Apache-2.0
// A new model of the same config, whose parameters have the same names.
#include "weft/checkpoint/patterns/encoder_with_attention.h"

#include "weft/checkpoint/patterns/copied_weights.h"

namespace weft::checkpoint {

models::EncoderModel encoder_with_attention(const models::EncoderModel& source,
                                            const std::vector<std::string>& attention,
                                            const std::filesystem::path& graphs) {
  models::EncoderConfig config = source->config();
  config.attention = attention;
  config.directory = graphs;
  models::EncoderModel model = models::make_encoder(config, source->head(), 0);
  copy_weights(*source, *model);
  model->eval();
  return model;
}

}  // namespace weft::checkpoint
