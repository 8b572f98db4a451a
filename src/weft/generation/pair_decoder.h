// SPDX-License-Identifier: Apache-2.0
// The decoder of an encoder-decoder, behind a batch of sources that the encoder has read once.
#pragma once

#include <memory>
#include <vector>

#include "weft/generation/decoder.h"
#include "weft/models/encoder_decoder.h"

namespace weft::generation {

/// An encoder-decoder in evaluation mode while this lives. Its first step has a row a source; reorder() says which
/// source each row reads from then on.
class PairDecoder final : public Decoder {
 public:
  /// Reads the sources: int64 [B, S], where they have padding the mask [B, S], 0 at padding, and where a global
  /// position is not the first token those, see models::SourceText. Errors: those of EncoderDecoderImpl::encode().
  PairDecoder(models::EncoderDecoder model, const at::Tensor& input_ids, const at::Tensor& attention_mask = {},
              const at::Tensor& global_attention_mask = {});
  ~PairDecoder() override = default;
  PairDecoder(const PairDecoder&) = delete;
  PairDecoder& operator=(const PairDecoder&) = delete;

  layers::DecodingState initial_state() override { return model_->initial_state(); }
  at::Tensor step(const at::Tensor& tokens, layers::DecodingState& state) override;
  void reorder(layers::DecodingState& state, const at::Tensor& rows) override;
  std::optional<std::int64_t> longest() const override;

 private:
  void keep_texts(const std::vector<std::int64_t>& texts, std::int64_t readers);

  /// From the first statement on: a constructor that throws gives the model its mode back, too.
  class EvaluationMode {
   public:
    explicit EvaluationMode(models::EncoderDecoder model);
    ~EvaluationMode();
    EvaluationMode(const EvaluationMode&) = delete;
    EvaluationMode& operator=(const EvaluationMode&) = delete;

   private:
    models::EncoderDecoder model_;
    bool was_training_;
  };

  models::EncoderDecoder model_;
  at::Device device_;
  EvaluationMode mode_;
  std::shared_ptr<const layers::Source> source_;  // each text once where every text has as many rows
  std::vector<std::int64_t> texts_;               // which of the sources each text of source_ is
  std::vector<std::int64_t> reads_;               // which of the sources each row of the target reads
};

}  // namespace weft::generation
