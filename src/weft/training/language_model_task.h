// SPDX-License-Identifier: Apache-2.0
// Language modelling as the trainer sees it: windows of text or sound, or pictures, next-token labels for a decoder and
// masked ones for an encoder.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/attention/mechanisms/span/learned_spans.h"
#include "weft/data/masking.h"
#include "weft/data/picture_tokens.h"
#include "weft/data/stream_sampler.h"
#include "weft/data/text_corpus.h"
#include "weft/data/token_source.h"
#include "weft/data/window_sampler.h"
#include "weft/models/language_model.h"
#include "weft/text/tokenizer.h"
#include "weft/training/distillation/vocabulary_teacher.h"
#include "weft/training/stream_memory.h"
#include "weft/training/task.h"
#include "weft/training/text_task.h"
#include "weft/training/trainer_config.h"

namespace weft::training {

/// Windows of a corpus through a LanguageModel, or streams of it where the model has a memory; overrides as Task
/// describes them. Of a model with a memory, loss() of a step needs that of the step before.
class LanguageModelTask final : public Task {
 public:
  /// Opens and, where the vocabulary is not bytes, encodes the text. Errors: kIo naming the file; kArgument when text,
  /// context, vocabulary and model do not go together. `began_with` is the directory of the model's first weights,
  /// empty where they were random; the run's training.json says so.
  LanguageModelTask(models::LanguageModel model, std::shared_ptr<const text::Tokenizer> tokenizer,
                    const TrainerConfig& trainer, const TextConfig& config, std::string began_with = {});
  LanguageModelTask(const LanguageModelTask&) = delete;
  LanguageModelTask& operator=(const LanguageModelTask&) = delete;

  /// From now on loss() is the teacher's, unless that is null; training.json then holds `config`.
  void learn_from(std::shared_ptr<VocabularyTeacher> teacher, const DistillationConfig& config);

  std::vector<std::pair<std::string, at::Tensor>> parameters() const override;
  void move_to(c10::Device device) override;
  at::Tensor loss(std::int64_t step, std::int64_t part) override;
  void after_step(std::int64_t done, std::uint64_t seed) override;
  formats::Json figures() const override;
  void set_training(bool on) override { model_->train(on); }
  std::int64_t tokens(std::int64_t /*step*/, std::int64_t /*part*/) override {
    return trainer_.batch_size * config_.context;
  }
  formats::Json evaluate(const std::function<void(std::int64_t, std::int64_t)>& progress) override;
  std::optional<std::vector<std::string>> figure_names() override;
  formats::Json data_identity() const override { return identity_; }
  formats::Json settings() const override;
  void save(const std::filesystem::path& directory) const override;
  void load(const std::filesystem::path& directory) override;
  void save_state(const std::filesystem::path& checkpoint) const override;
  void load_state(const std::filesystem::path& checkpoint, std::int64_t step) override;

 private:
  data::Batch batch(std::int64_t step, std::int64_t part) const;
  data::SamplerOptions sampler_options() const;
  void remember_streams();
  void open_held_out();

  models::LanguageModel model_;
  std::vector<std::shared_ptr<attention::SpanAttention>> spans_;  // of the model's layers, where they learn them
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  TrainerConfig trainer_;
  TextConfig config_;
  std::string began_with_;
  std::shared_ptr<const data::TokenSource> source_;
  formats::Json identity_;                      // of the source
  data::WindowSampler sampler_;                 // of pictures: a window is one of them
  std::optional<data::StreamSampler> streams_;  // in place of the windows, where the model has a memory
  std::optional<StreamMemory> memory_;
  data::MaskingOptions masking_;                          // of an encoder
  std::unique_ptr<const text::SubwordSampler> subwords_;  // where training text is drawn in other tokens each time
  std::shared_ptr<const data::TextCorpus> held_out_;
  std::unique_ptr<const data::PictureTokens> held_out_pictures_;
  std::shared_ptr<VocabularyTeacher> teacher_;  // or none
  DistillationConfig distillation_;
};

}  // namespace weft::training
