// SPDX-License-Identifier: Apache-2.0
// Masked language modelling of an encoder that is there already: pre-training goes on, on text of one's own.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/fields.h"
#include "weft/data/text_corpus.h"
#include "weft/data/window_sampler.h"
#include "weft/fine_tuning/masked_text/framed_masking.h"
#include "weft/models/encoder_model.h"
#include "weft/text/sampling/subword_sampler.h"
#include "weft/training/evaluation/evaluate_masked.h"
#include "weft/training/task.h"
#include "weft/training/trainer_config.h"

namespace weft::fine_tuning {

/// What a run's training.json holds beside the trainer's fields.
struct MaskedTextConfig {
  std::string task = "mlm";
  std::string model;
  std::vector<std::string> attention;
  bool gradient_checkpointing = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = MaskedTextConfig;
    visit(Field{"task", &C::task, "what is learned"}.one_of({"mlm"}));
    visit(Field{"model", &C::model, "directory to begin with"});
    visit(Field{"attention", &C::attention, "pattern or mechanism in place of the model's own"});
    visit(Field{"gradient_checkpointing", &C::gradient_checkpointing, "recompute each layer in the backward pass"});
  }
};

/// With an absolute path, so that a run means the same wherever it is resumed.
MaskedTextConfig settled(MaskedTextConfig config);

/// Overrides as training::Task describes them. A window has trainer.context tokens, special ones included; the loss is
/// the mean over the masked ones.
class MaskedTextTask final : public training::Task {
 public:
  /// `model` has a masked-lm head. Errors: kIo naming a file of text; kArgument for a context that leaves no room or is
  /// longer than the model's, for less text than one window, and for label smoothing.
  MaskedTextTask(models::EncoderModel model, std::shared_ptr<const text::HuggingFaceTokenizer> tokenizer,
                 const training::TrainerConfig& trainer, const MaskedTextConfig& config);

  const models::EncoderModel& model() const noexcept { return model_; }

  std::vector<std::pair<std::string, at::Tensor>> parameters() const override;
  at::Tensor loss(std::int64_t step, std::int64_t part) override;
  void set_training(bool on) override { model_->train(on); }
  std::int64_t tokens(std::int64_t /*step*/, std::int64_t /*part*/) override {
    return trainer_.batch_size * trainer_.context;
  }
  formats::Json evaluate(const std::function<void(std::int64_t, std::int64_t)>& progress) override;
  std::optional<std::vector<std::string>> figure_names() override;
  formats::Json data_identity() const override;
  formats::Json settings() const override { return formats::to_json(config_); }
  void save(const std::filesystem::path& directory) const override;
  void load(const std::filesystem::path& directory) override;

 private:
  models::EncoderModel model_;
  std::shared_ptr<const text::HuggingFaceTokenizer> tokenizer_;
  training::TrainerConfig trainer_;
  MaskedTextConfig config_;
  FramedMasking masking_;
  data::WindowSampler sampler_;
  std::unique_ptr<const text::SubwordSampler> subwords_;  // or none
  std::shared_ptr<const data::TextCorpus> held_out_;      // or none
};

/// How well an encoder predicts masked tokens of a text; options.context counts the special tokens, too, and is the
/// model's own length where it is 0. Errors: as training::evaluate_masked; kArgument for a context it cannot have.
training::MaskedResult evaluate_masked_text(models::EncoderModel model, const text::HuggingFaceTokenizer& tokenizer,
                                            std::string_view text, const MaskingPlan& plan,
                                            const training::EvaluateOptions& options);

}  // namespace weft::fine_tuning
