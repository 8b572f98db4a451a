// SPDX-License-Identifier: Apache-2.0
// Masked language modelling of an encoder that is there already: pre-training goes on, on text of one's own. Windows of
// a text are shown as in the encoder's pre-training: the special tokens of a text are around each, and are never masked
// (RoBERTa's full sentences, Liu et al. 2019, section 4.2).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/attention/mechanisms/linear/redrawn_features.h"
#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/core/fields.h"
#include "weft/data/masking.h"
#include "weft/data/text_corpus.h"
#include "weft/data/window_sampler.h"
#include "weft/models/encoder_model.h"
#include "weft/text/hugging_face.h"
#include "weft/training/distillation/vocabulary_teacher.h"
#include "weft/training/evaluation/evaluate_masked.h"
#include "weft/training/task.h"
#include "weft/training/text_task.h"

namespace weft::fine_tuning {

/// How tokens are chosen for prediction, as data::MaskingOptions has it.
struct MaskingChoice {
  double probability = 0.15;
  std::string unit = "tokens";
  std::int64_t seed = 0;
};

class FramedMasking {
 public:
  /// `model_ids` is the size of the model's vocabulary. Errors: kArgument for a tokeniser without a mask token or with
  /// ids that the model has not.
  FramedMasking(const text::HuggingFaceTokenizer& tokenizer, std::int64_t model_ids, const MaskingChoice& choice);

  /// The id of the mask.
  std::int64_t mask_id() const noexcept { return masking_.mask_id; }
  /// Tokens around a window.
  std::int64_t special_tokens() const noexcept { return static_cast<std::int64_t>(before_.size() + after_.size()); }
  /// tokens int64 [B, n] -> inputs and labels [B, special + n], masked by (step, part) as data::masked_batch().
  data::Batch batch(const at::Tensor& tokens, std::int64_t step, std::int64_t part) const;
  /// Its two halves: tokens int64 [B, n] -> inputs and labels [B, n], and those with the special tokens around them.
  data::Batch mask(const at::Tensor& tokens, std::int64_t step, std::int64_t part) const {
    return data::masked_batch(tokens, masking_, step, part);
  }
  data::Batch frame(const data::Batch& masked) const;

 private:
  std::vector<std::int64_t> before_;
  std::vector<std::int64_t> after_;
  data::MaskingOptions masking_;
};

/// What a run's training.json holds beside the fields of the trainer and of the text.
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
    visit(Field{"gradient_checkpointing", &C::gradient_checkpointing,
                "save memory: compute each layer again in the backward pass"});
  }
};

/// With an absolute path, so that a run means the same wherever it is resumed.
MaskedTextConfig resolved(MaskedTextConfig config);

/// Overrides as training::Task describes them. A window has text.context tokens, special ones included; the loss is
/// the mean over the masked ones, or has contrastive_weight in the contrastive loss of hidden sentences.
class MaskedTextTask final : public training::Task {
 public:
  /// `model` has a masked-lm head. Errors: kIo naming a file of text; kArgument for a context that leaves no room or is
  /// longer than the model's, for less text than one window, and for label smoothing.
  MaskedTextTask(models::EncoderModel model, std::shared_ptr<const text::HuggingFaceTokenizer> tokenizer,
                 const training::TrainerConfig& trainer, const training::TextConfig& text,
                 const MaskedTextConfig& config);

  const models::EncoderModel& model() const noexcept { return model_; }
  /// From now on loss() is the teacher's, unless that is null; training.json then holds `config`. Errors: kArgument
  /// with a contrastive loss beside it.
  void learn_from(std::shared_ptr<training::VocabularyTeacher> teacher, const training::DistillationConfig& config);

  /// What sentence-transformers put beside the encoder, which save() writes again: an embedder stays one.
  void keep_modules(std::optional<checkpoint::SentenceDirectory> modules) { modules_ = std::move(modules); }

  std::vector<std::pair<std::string, at::Tensor>> parameters() const override;
  void move_to(c10::Device device) override;
  at::Tensor loss(std::int64_t step, std::int64_t part) override;
  void after_step(std::int64_t done, std::uint64_t seed) override { attention::redraw_features(*model_, done, seed); }
  void set_training(bool on) override { model_->train(on); }
  std::int64_t tokens(std::int64_t /*step*/, std::int64_t /*part*/) override {
    return trainer_.batch_size * text_.context;
  }
  /// Both losses of the last step, where there are two, as means over the parts that this process computed.
  formats::Json figures() const override;
  formats::Json evaluate(const std::function<void(std::int64_t, std::int64_t)>& progress) override;
  std::optional<std::vector<std::string>> figure_names() override;
  formats::Json data_identity() const override { return identity_; }
  formats::Json settings() const override;
  void save(const std::filesystem::path& directory) const override;
  void load(const std::filesystem::path& directory) override;

 private:
  /// Losses of one step, summed over parts.
  struct LossSums {
    std::int64_t step = -1;
    double parts = 0;
    double masked = 0;
    double contrastive = 0;
  };
  at::Tensor with_contrastive_loss(const data::Batch& batch, std::int64_t step, std::int64_t part);

  models::EncoderModel model_;
  std::shared_ptr<const text::HuggingFaceTokenizer> tokenizer_;
  training::TrainerConfig trainer_;
  training::TextConfig text_;
  MaskedTextConfig config_;
  FramedMasking masking_;
  data::WindowSampler sampler_;
  formats::Json identity_;                                // of the sampler's source
  std::unique_ptr<const text::SubwordSampler> subwords_;  // or none
  std::shared_ptr<const data::TextCorpus> held_out_;      // or none
  std::shared_ptr<training::VocabularyTeacher> teacher_;  // or none
  training::DistillationConfig distillation_;
  std::optional<checkpoint::SentenceDirectory> modules_;
  LossSums sums_;
};

/// How well an encoder predicts masked tokens of a text; options.context counts the special tokens, too, and is the
/// model's own length where it is 0. Errors: as training::evaluate_masked; kArgument for a context it cannot have.
training::MaskedResult evaluate_masked_text(models::EncoderModel model, const text::HuggingFaceTokenizer& tokenizer,
                                            std::string_view text, const MaskingChoice& choice,
                                            const training::EvaluateOptions& options);

}  // namespace weft::fine_tuning
