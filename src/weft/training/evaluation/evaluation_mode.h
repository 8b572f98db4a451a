// SPDX-License-Identifier: Apache-2.0
// What evaluations of decoders and encoders share.
#pragma once

#include <cstdint>
#include <string_view>

#include <torch/nn/module.h>

#include "weft/text/tokenizer.h"

namespace weft::training {

/// A model in evaluation mode for a while.
class EvaluationMode {
 public:
  explicit EvaluationMode(torch::nn::Module& model) : model_(model), training_before_(model.is_training()) {
    model_.eval();
  }
  ~EvaluationMode() { model_.train(training_before_); }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  torch::nn::Module& model_;
  bool training_before_;
};

/// `text` cut to at most `maximum` bytes (0: all of it), at the start of a UTF-8 character unless bytes are the
/// vocabulary.
inline std::string_view first_bytes(std::string_view text, std::int64_t maximum, const text::Tokenizer& tokenizer) {
  if (maximum <= 0 || static_cast<std::int64_t>(text.size()) <= maximum) {
    return text;
  }
  auto end = static_cast<std::size_t>(maximum);
  while (tokenizer.kind() != "bytes" && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return text.substr(0, end);
}

}  // namespace weft::training
