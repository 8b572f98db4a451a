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

std::optional<std::int64_t> LanguageModelDecoder::longest() const { return models::position_limit(model_->config()); }

}  // namespace weft::generation
