// SPDX-License-Identifier: Apache-2.0
// An encoder with a head as the trainer sees it: batches of like lengths, the objective's loss, its figures on held-out
// examples.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/attention/mechanisms/linear/redrawn_features.h"
#include "weft/data/length_batches.h"
#include "weft/fine_tuning/distillation/head_teacher.h"
#include "weft/fine_tuning/objective.h"
#include "weft/models/encoder_model.h"
#include "weft/training/task.h"
#include "weft/training/trainer_config.h"

namespace weft::fine_tuning {

/// Overrides as training::Task describes them. Part p of step s shows batch s * parts + p of data::LengthBatches.
class EncoderTask final : public training::Task {
 public:
  /// `objective` has read its splits; `model` holds the head that it chose. Errors: kArgument without an example, and
  /// for one that is longer than settings.task.batch_tokens.
  EncoderTask(std::shared_ptr<Objective> objective, models::EncoderModel model, const RunSettings& settings);

  /// From now on loss() is the teacher's, unless that is null.
  void learn_from(std::unique_ptr<HeadTeacher> teacher) { teacher_ = std::move(teacher); }
  /// Steps that show every example `epochs` times; the last may begin one more epoch.
  std::int64_t steps_of(std::int64_t epochs);
  const Objective& objective() const noexcept { return *objective_; }
  const models::EncoderModel& model() const noexcept { return model_; }

  std::vector<std::pair<std::string, at::Tensor>> parameters() const override;
  void move_to(c10::Device device) override;
  at::Tensor loss(std::int64_t step, std::int64_t part) override;
  void after_step(std::int64_t done, std::uint64_t seed) override { attention::redraw_features(*model_, done, seed); }
  void set_training(bool on) override { model_->train(on); }
  std::int64_t tokens(std::int64_t step, std::int64_t part) override;
  formats::Json evaluate(const std::function<void(std::int64_t, std::int64_t)>& progress) override;
  std::optional<std::vector<std::string>> figure_names() override;
  formats::Json review() const override { return review_; }
  std::string doubt() const override { return doubt_; }
  formats::Json data_identity() const override { return identity_; }
  formats::Json settings() const override;
  void save(const std::filesystem::path& directory) const override;
  void load(const std::filesystem::path& directory) override;

 private:
  const std::vector<std::int64_t>& examples(std::int64_t step, std::int64_t part);
  std::vector<TokenRow> show(TrainingBatch& batch, std::int64_t step, std::int64_t part);
  at::Tensor loss_of_rows(std::int64_t step, std::int64_t part);

  std::shared_ptr<Objective> objective_;
  models::EncoderModel model_;
  RunSettings settings_;
  Padding padding_;
  data::LengthBatches batches_;
  std::unique_ptr<const text::SubwordSampler> subwords_;  // or none
  std::unique_ptr<HeadTeacher> teacher_;                  // or none
  formats::Json review_ = formats::Json::object();        // of the last evaluation, in the first process
  std::string doubt_;                                     // of the last evaluation
  formats::Json identity_;                                // made once, over all tokens; every checkpoint holds it
};

/// Named parameters without those of a pooler that came with the file and that the head does not read: it gets no
/// gradient.
std::vector<std::pair<std::string, at::Tensor>> trained_leaves(const models::EncoderModelImpl& model);

}  // namespace weft::fine_tuning
