// SPDX-License-Identifier: Apache-2.0
// Any number of labels for a text, hundreds of binary profiles of a sequence among them: binary cross entropy of each
// label, as `transformers` has it for multi_label_classification; DNA on one strand or both.
#pragma once

#include "weft/fine_tuning/objective.h"
#include "weft/fine_tuning/text_records.h"
#include "weft/metrics/roc_auc.h"

namespace weft::fine_tuning {

/// Overrides as Objective describes them. A label is predicted where its score is above one half. Figures: F1 (micro,
/// macro), exact_match (all labels right), roc_auc and roc_auc_median (mean and median over labels that have both
/// classes), roc_auc_NAME and roc_auc_median_NAME for each group of label_groups, loss. class_weights weigh the
/// examples that have a label against those that have not.
///
/// With data.both_strands an example is two rows, a sequence and its reverse complement with the same labels. Both are
/// learned in the same batch; the score of a label is the mean of its two probabilities, as DeepSEA's (Zhou and
/// Troyanskaya 2015), and what keep() writes is that mean's logit.
class MultilabelObjective final : public Objective {
 public:
  /// Errors: kArgument for label smoothing, a problem_type, or both_strands of pairs; kFormat for a file of groups that
  /// is none.
  explicit MultilabelObjective(Setup setup);

  HeadChoice choose_head() override;
  at::Tensor loss(const models::EncoderOutput& output, const TrainingBatch& batch) const override;
  std::vector<at::Tensor> choices(const models::EncoderOutput& output, const TrainingBatch& batch) const override;
  std::int64_t numbers(std::int64_t example) const override;
  models::EncoderOutput run(models::EncoderModelImpl& model, const models::EncoderInput& input) const override;
  RowRange row_range(Split split, std::int64_t example) const override;
  std::int64_t examples(Split split) const override;
  void keep(const tasks::WindowOutput& output, std::int64_t example, std::span<double> numbers) const override;
  std::vector<std::pair<std::string, std::string>> remarks() const override;
  formats::Json figures(Kept kept) const override;
  Findings findings(Kept kept) const override;
  formats::Json errors(Kept kept) const override;
  void predictions(Kept kept, const WriteLine& write) const override;
  std::uint64_t fingerprint() const override;

 protected:
  ReadSummary read_files(Split split, const std::vector<std::string>& paths) override;

 private:
  std::int64_t width() const { return static_cast<std::int64_t>(labels_.names().size()); }
  std::vector<std::uint8_t> truth_matrix() const;
  std::vector<std::uint8_t> predicted_matrix(Kept kept) const;
  std::string doubt(Kept kept) const;
  formats::Json group_details(std::span<const std::uint8_t> truth, Kept kept) const;
  double mean_loss(Kept kept, std::span<const std::uint8_t> truth) const;
  void add_labels(Split split, const TextRecord& record);

  LabelNames labels_;
  at::Tensor weights_;                                         // float32 [labels], or undefined
  BySplit<std::vector<std::vector<std::int64_t>>> positives_;  // labels of each row
  formats::Json group_names_ = formats::Json::object();
  std::vector<metrics::LabelGroup> groups_;
  std::int64_t strands_ = 1;  // rows of an example
};

}  // namespace weft::fine_tuning
