// SPDX-License-Identifier: Apache-2.0
// What generation needs of a model: the state of a new text, a step, and rows that go on.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/layers/decoding_state.h"
#include "weft/models/language_model.h"

namespace weft::generation {

/// A model that goes on token by token. Scores come without gradients.
class Decoder {
 public:
  virtual ~Decoder() = default;

  /// Before the first token.
  virtual layers::DecodingState initial_state() = 0;
  /// Takes tokens int64 [B, n] behind those of `state` in; -> scores of what comes after the last one [B, vocab], which
  /// the caller may change.
  virtual at::Tensor step(const at::Tensor& tokens, layers::DecodingState& state) = 0;
  /// Row b goes on from what row rows[b] was, int64 [B'].
  virtual void reorder(layers::DecodingState& state, const at::Tensor& rows) { state.reorder(rows); }
  /// Tokens of the longest text that it has positions for; nothing where there is no longest.
  virtual std::optional<std::int64_t> longest() const = 0;
  /// Whether scores are logarithms of probabilities already, which beams take as they are.
  virtual bool gives_logarithms() const { return false; }

 protected:
  Decoder() = default;
  Decoder(const Decoder&) = default;
  Decoder& operator=(const Decoder&) = default;
};

/// A language model, in evaluation mode while this lives.
class LanguageModelDecoder final : public Decoder {
 public:
  explicit LanguageModelDecoder(models::LanguageModel model);
  ~LanguageModelDecoder() override;
  LanguageModelDecoder(const LanguageModelDecoder&) = delete;
  LanguageModelDecoder& operator=(const LanguageModelDecoder&) = delete;

  layers::DecodingState initial_state() override { return model_->initial_state(); }
  at::Tensor step(const at::Tensor& tokens, layers::DecodingState& state) override;
  void reorder(layers::DecodingState& state, const at::Tensor& rows) override { state.reorder(rows.to(device_)); }
  std::optional<std::int64_t> longest() const override;

 private:
  models::LanguageModel model_;
  at::Device device_;
  bool was_training_;
};

}  // namespace weft::generation
