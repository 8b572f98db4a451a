// SPDX-License-Identifier: Apache-2.0
// A language model as a decoder.
#include "weft/generation/decoder.h"

namespace weft::generation {

LanguageModelDecoder::LanguageModelDecoder(models::LanguageModel model)
    : model_(std::move(model)), device_(model_->parameters().front().device()), was_training_(model_->is_training()) {
  model_->eval();
}

LanguageModelDecoder::~LanguageModelDecoder() { model_->train(was_training_); }

at::Tensor LanguageModelDecoder::step(const at::Tensor& tokens, layers::DecodingState& state) {
  return model_->decode(tokens.to(device_), state);
}

std::optional<std::int64_t> LanguageModelDecoder::longest() const {
  const models::TransformerConfig& config = model_->config();
  return config.position_embedding == "learned" ? std::optional(config.max_position_embeddings) : std::nullopt;
}

}  // namespace weft::generation
