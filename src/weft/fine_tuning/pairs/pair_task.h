// SPDX-License-Identifier: Apache-2.0
// An encoder-decoder that learns pairs of texts, as the trainer sees it: batches of like lengths under a budget of
// tokens, label-smoothed loss, held-out loss and what the model writes for held-out sources.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/data/length_batches.h"
#include "weft/fine_tuning/pairs/pair_config.h"
#include "weft/fine_tuning/pairs/pair_rows.h"
#include "weft/models/encoder_decoder.h"
#include "weft/text/hugging_face.h"
#include "weft/text/sampling/subword_sampler.h"
#include "weft/training/task.h"

namespace weft::fine_tuning {

/// Pairs to learn, and pairs to measure by with the text of their targets.
struct PairData {
  PairRows training;
  PairRows held_out;
  std::vector<std::string> references;
};

/// Overrides as training::Task describes them. Part p of step s shows batch s * parts + p of data::LengthBatches.
class PairTask final : public training::Task {
 public:
  /// Errors: kArgument without a training pair, and for one that is longer than batch_tokens.
  PairTask(models::EncoderDecoder model, std::shared_ptr<const text::HuggingFaceTokenizer> tokenizer,
           const PairSettings& settings, PairData data);

  /// Steps that show every pair `epochs` times; the last may begin one more epoch.
  std::int64_t steps_of(std::int64_t epochs);
  const models::EncoderDecoder& model() const noexcept { return model_; }
  const PairData& data() const noexcept { return data_; }

  std::vector<std::pair<std::string, at::Tensor>> parameters() const override { return training::leaves_of(*model_); }
  at::Tensor loss(std::int64_t step, std::int64_t part) override;
  void set_training(bool on) override { model_->train(on); }
  /// Of sources and targets.
  std::int64_t tokens(std::int64_t step, std::int64_t part) override;
  formats::Json evaluate(const std::function<void(std::int64_t, std::int64_t)>& progress) override;
  std::optional<std::vector<std::string>> figure_names() override;
  formats::Json review() const override { return review_; }
  formats::Json data_identity() const override { return identity_; }
  formats::Json settings() const override { return formats::to_json(settings_.pairs); }
  void save(const std::filesystem::path& directory) const override;
  void load(const std::filesystem::path& directory) override;

 private:
  const std::vector<std::int64_t>& pairs(std::int64_t step, std::int64_t part);
  void draw_anew(std::vector<PairRow>& rows, std::int64_t step, std::int64_t part) const;

  models::EncoderDecoder model_;
  std::shared_ptr<const text::HuggingFaceTokenizer> tokenizer_;
  PairSettings settings_;
  PairData data_;
  data::LengthBatches batches_;
  std::unique_ptr<const text::SubwordSampler> subwords_;  // or none
  formats::Json review_ = formats::Json::object();        // of the last evaluation, in the first process
  formats::Json identity_;                                // made once, over all tokens; every checkpoint holds it
};

}  // namespace weft::fine_tuning
