// SPDX-License-Identifier: Apache-2.0
// Vectors whose cosines say what texts mean to each other (Reimers and Gurevych 2019): by in-batch negatives (Henderson
// et al. 2017), or by scores of pairs.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "weft/fine_tuning/objective.h"
#include "weft/fine_tuning/retrieval/judged_texts.h"
#include "weft/fine_tuning/retrieval/learned_modules.h"
#include "weft/fine_tuning/retrieval/text_groups.h"

namespace weft::fine_tuning {

/// Overrides as Objective describes them. An example of the training split is a query, a text that answers it, and the
/// record's negatives, a row each; one of the held-out split is a text. With in-batch negatives every other text of the
/// batch is a negative of a query, but those that the training data say answer it, and those equal to it. Figures: see
/// JudgedTexts, and for each of matryoshka_dims the first of them, "spearman_at_64" or "ndcg_at_10_at_64".
class EmbedObjective final : public Objective {
 public:
  /// Errors: those of LearnedModules; kArgument for class weights.
  explicit EmbedObjective(Setup setup);

  std::vector<std::pair<std::string, std::string>> remarks() const override;
  models::EncoderOutput run(models::EncoderModelImpl& model, const models::EncoderInput& input) const override;
  std::int64_t tokens_at_once() const override { return setup().retrieval.mini_batch_tokens; }
  bool compares_examples() const override { return loss_ != Loss::kCosine; }
  std::vector<std::pair<std::string, at::Tensor>> parameters() const override { return modules_.parameters(); }
  void move_to(c10::Device device) override { modules_.move_to(device); }
  void save(const std::filesystem::path& directory) const override { modules_.save(directory, setup().model.maximum); }
  void load(const std::filesystem::path& directory) override { modules_.load(directory); }
  RowRange row_range(Split split, std::int64_t example) const override;
  std::int64_t examples(Split split) const override;
  at::Tensor loss(const models::EncoderOutput& output, const TrainingBatch& batch) const override;
  std::int64_t numbers(std::int64_t /*example*/) const override { return modules_.width(); }
  formats::Json figures(Kept kept) const override;
  Findings findings(Kept kept) const override;
  formats::Json errors(Kept kept) const override;
  void predictions(Kept kept, const WriteLine& write) const override;
  std::uint64_t fingerprint() const override;

 protected:
  ReadSummary read_files(Split split, const std::vector<std::string>& paths) override;

 private:
  enum class Loss { kUnknown, kInBatch, kCosine, kCosent };

  void settle_loss(const TextGroup& group);
  void learn(const TextGroup& group, ReadSummary& summary);
  void hold(const TextGroup& group, ReadSummary& summary);
  at::Tensor no_negatives(std::span<const std::int64_t> queries, std::span<const std::int64_t> texts) const;
  at::Tensor in_batch(const at::Tensor& rows, const TrainingBatch& batch) const;
  at::Tensor of_scores(const at::Tensor& rows, const TrainingBatch& batch) const;

  LearnedModules modules_;
  Loss loss_ = Loss::kUnknown;
  std::vector<std::int64_t> begins_ = {0};       // the first row of each training example, and behind the last
  std::vector<std::uint64_t> keys_;              // of the text of each training row
  std::unordered_set<std::uint64_t> belonging_;  // pairs of keys: a query and a text that answers it
  std::vector<double> scores_;                   // of training examples, where they have some
  JudgedTexts held_;
};

}  // namespace weft::fine_tuning
