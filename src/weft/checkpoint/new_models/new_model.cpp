// SPDX-License-Identifier: Apache-2.0
// Each kind of model has its positions elsewhere.
#include "weft/checkpoint/new_models/new_model.h"

#include "weft/layers/inference/int8_weight.h"

namespace weft::checkpoint {

NewModel new_model(const models::EncoderModel& model) {
  const models::EncoderConfig& config = model->config();
  return {config.model_type, std::string(models::to_string(model->head())), model->parameter_count(),
          config.maximum_length(), layers::holds_int8(*model)};
}

NewModel new_model(const models::EncoderDecoder& model) {
  const models::EncoderDecoderConfig& config = model->config();
  return {config.model_type, "encoder-decoder", model->parameter_count(), config.max_source_positions,
          layers::holds_int8(*model)};
}

NewModel new_model(const models::LanguageModel& model, std::string_view family) {
  return {std::string(family), "decoder", model->parameter_count(), model->config().max_position_embeddings,
          layers::holds_int8(*model)};
}

}  // namespace weft::checkpoint
