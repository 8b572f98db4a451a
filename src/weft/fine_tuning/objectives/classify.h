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

  models::Head head() const override { return models::Head::kSequenceClassification; }
  HeadChoice choose_head() override;
  at::Tensor loss(const models::EncoderConfig& config, const models::EncoderOutput& output,
                  const TrainingBatch& batch) const override;
  std::int64_t numbers(std::int64_t example) const override;
  void keep(const tasks::WindowOutput& output, std::int64_t example, std::span<double> numbers) const override;
  formats::Json figures(Kept kept) const override;
  formats::Json details(Kept kept) const override;
  formats::Json review(Kept kept) const override;
  void predictions(Kept kept, const WriteLine& write) const override;
  std::string doubt(Kept kept) const override;
  std::uint64_t fingerprint() const override;

 protected:
  ReadSummary read_files(Split split, const std::vector<std::string>& paths) override;

 private:
  void add_target(Split split, const TextRecord& record);
  std::vector<std::int64_t> predicted_labels(Kept kept) const;

  bool regression_;
  LabelNames labels_;
  at::Tensor weights_;                              // float32 [labels], or undefined
  std::array<std::vector<std::int64_t>, 2> truth_;  // ids, by split
  std::array<std::vector<double>, 2> values_;       // of regression
};

}  // namespace weft::fine_tuning
