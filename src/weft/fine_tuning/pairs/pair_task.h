// SPDX-License-Identifier: Apache-2.0
// An encoder-decoder that learns pairs of texts, as the trainer sees it: batches of like lengths under a budget of
// tokens, label-smoothed loss, held-out loss and what the model writes for held-out sources.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/attention/mechanisms/linear/redrawn_features.h"
#include "weft/data/length_batches.h"
#include "weft/data/resampled_rows.h"
#include "weft/fine_tuning/pairs/pair_config.h"
#include "weft/fine_tuning/pairs/pair_rows.h"
#include "weft/models/encoder_decoder.h"
#include "weft/text/pair/pair_tokenizer.h"
#include "weft/text/sampling/subword_sampler.h"
#include "weft/training/task.h"

namespace weft::fine_tuning {

/// What is shown of a row of the training data, drawn anew each time: a pure function of the row, the draws and the
/// row's place in its batch.
using RowDrawer = std::function<PairRow(const PairRow& stored, const data::RowDraws& draws, std::int64_t place)>;

/// Pairs to learn, and pairs to measure by with the text of their targets.
struct PairData {
  PairRows training;
  PairRows held_out;
  std::vector<std::string> references;
  RowDrawer drawer = {};  ///< none where rows are shown as they are stored
};

/// What a run begins with, or goes on from.
struct PairModel {
  models::EncoderDecoder model{nullptr};
  std::shared_ptr<const text::PairTokenizer> tokenizer;
  std::string generation = {};  ///< generation_config.json of its directory; empty: a new model's own, none of others
};

/// Overrides as training::Task describes them. Part p of step s shows batch s * parts + p of data::LengthBatches.
class PairTask final : public training::Task {
 public:
  /// Errors: kArgument without a training pair, and for one that is longer than batch_tokens.
  PairTask(PairModel begin, const PairSettings& settings, PairData data);

  /// Steps that show every pair `epochs` times; the last may begin one more epoch.
  std::int64_t steps_of(std::int64_t epochs);
  const models::EncoderDecoder& model() const noexcept { return model_; }
  const PairData& data() const noexcept { return data_; }

  std::vector<std::pair<std::string, at::Tensor>> parameters() const override { return training::leaves_of(*model_); }
  void move_to(c10::Device device) override { model_->to(device); }
  at::Tensor loss(std::int64_t step, std::int64_t part) override;
  void after_step(std::int64_t done, std::uint64_t seed) override { attention::redraw_features(*model_, done, seed); }
  /// Target tokens, so that a step's loss is the mean over all of them.
  double weight(std::int64_t step, std::int64_t part) override;
  void set_training(bool on) override { model_->train(on); }
  /// The pairs of a part, in the tokens that were drawn for it.
  std::vector<PairRow> shown(std::int64_t step, std::int64_t part);
  /// Of sources and targets, before subwords are drawn; of plain texts, before their noise is.
  std::int64_t tokens(std::int64_t step, std::int64_t part) override;
  formats::Json evaluate(const std::function<void(std::int64_t, std::int64_t)>& progress) override;
  std::optional<std::vector<std::string>> figure_names() override;
  std::string doubt() const override { return doubt_; }
  formats::Json data_identity() const override { return identity_; }
  formats::Json settings() const override { return formats::to_json(settings_.pairs); }
  void save(const std::filesystem::path& directory) const override;
  void load(const std::filesystem::path& directory) override;

 private:
  const std::vector<std::int64_t>& pairs(std::int64_t step, std::int64_t part);
  bool draws_rows() const noexcept { return source_subwords_ || data_.drawer; }
  void draw_anew(std::vector<PairRow>& rows, std::int64_t step, std::int64_t part) const;

  models::EncoderDecoder model_;
  std::shared_ptr<const text::PairTokenizer> tokenizer_;
  std::string generation_;
  PairSettings settings_;
  PairData data_;
  data::LengthBatches batches_;
  // Of sources and targets, the same object where both sides are one tokeniser; or none.
  std::shared_ptr<const text::SubwordSampler> source_subwords_;
  std::shared_ptr<const text::SubwordSampler> target_subwords_;
  std::int64_t drawn_step_ = -1;
  std::map<std::int64_t, std::vector<PairRow>> drawn_;  // of that step: parts weighed and not shown yet
  std::string doubt_;                                   // of the last evaluation
  formats::Json identity_;                              // made once, over all tokens; every checkpoint holds it
};

}  // namespace weft::fine_tuning
