// SPDX-License-Identifier: Apache-2.0
// One label for a text or a pair of texts, or one number (regression): cross entropy or squared error, as
// `transformers` has them for problem_type.
#pragma once

#include "weft/fine_tuning/objective.h"
#include "weft/fine_tuning/text_records.h"

namespace weft::fine_tuning {

/// Overrides as Objective describes them. Figures of labels: accuracy, F1 (micro, macro; of the second of two labels
/// f1, precision, recall), Matthews' correlation, loss. Of numbers: Pearson's and Spearman's correlation, mean squared
/// error.
class ClassifyObjective final : public Objective {
 public:
  /// Errors: kArgument for class weights or label smoothing with regression.
  explicit ClassifyObjective(Setup setup);

  HeadChoice choose_head() override;
  at::Tensor loss(const models::EncoderOutput& output, const TrainingBatch& batch) const override;
  std::int64_t numbers(std::int64_t example) const override;
  formats::Json figures(Kept kept) const override;
  Findings findings(Kept kept) const override;
  formats::Json errors(Kept kept) const override;
  void predictions(Kept kept, const WriteLine& write) const override;
  std::uint64_t fingerprint() const override;

 protected:
  ReadSummary read_files(Split split, const std::vector<std::string>& paths) override;

 private:
  void add_target(Split split, const TextRecord& record);
  std::vector<std::int64_t> predicted_labels(Kept kept) const;
  formats::Json numbers_far_off(Kept kept) const;

  bool regression_;
  LabelNames labels_;
  at::Tensor weights_;                        // float32 [labels], or undefined
  BySplit<std::vector<std::int64_t>> truth_;  // ids
  BySplit<std::vector<double>> values_;       // of regression
};

}  // namespace weft::fine_tuning
