// SPDX-License-Identifier: Apache-2.0
// Which of several texts goes with a prompt: cross entropy over the choices, as `transformers` has it.
#pragma once

#include <algorithm>

#include "weft/fine_tuning/objective.h"

namespace weft::fine_tuning {

/// Overrides as Objective describes them; an example has a row for each choice. Data are JSON lines
/// {"prompt", "choices": [...], "label": 0}, the file that `weft choose --file` reads, with the right choice. Figures:
/// accuracy, loss.
class ChooseObjective final : public Objective {
 public:
  /// Errors: kArgument for class weights.
  explicit ChooseObjective(Setup setup);

  std::int64_t rows_per_example() const override { return std::max<std::int64_t>(choices_, 1); }
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
  std::int64_t choices_ = 0;  // of every example; 0 before the first
  BySplit<std::vector<std::int64_t>> truth_;
};

}  // namespace weft::fine_tuning
