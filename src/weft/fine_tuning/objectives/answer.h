// SPDX-License-Identifier: Apache-2.0
// Answers that stand in a document, SQuAD's way (Devlin et al. 2019, sections 4.2 and 4.3): start and end of the first
// true answer, the first token where a window has none; documents beyond the model's length are read in windows.
#pragma once

#include "weft/fine_tuning/objective.h"
#include "weft/readers/squad_reader.h"

namespace weft::fine_tuning {

/// Overrides as Objective describes them; a row is a window. Figures: exact_match and f1 in percent by SQuAD's programs
/// (2.0's where a held-out question has no answer), and with such questions has_answer_f1, no_answer_f1, best_f1,
/// best_exact_match and best_threshold: what null_threshold should have been.
class AnswerObjective final : public Objective {
 public:
  /// Errors: kArgument for class weights or label smoothing.
  explicit AnswerObjective(Setup setup);

  at::Tensor loss(const models::EncoderOutput& output, const TrainingBatch& batch) const override;
  std::vector<at::Tensor> choices(const models::EncoderOutput& output, const TrainingBatch& batch) const override;
  std::int64_t numbers(std::int64_t example) const override;
  void keep(const tasks::WindowOutput& output, std::int64_t example, std::span<double> numbers) const override;
  formats::Json figures(Kept kept) const override;
  Findings findings(Kept kept) const override;
  formats::Json errors(Kept kept) const override;
  void predictions(Kept kept, const WriteLine& write) const override;
  std::uint64_t fingerprint() const override;

 protected:
  ReadSummary read_files(Split split, const std::vector<std::string>& paths) override;

 private:
  struct Target {
    std::int64_t start = 0;  // tokens of the row; 0 where the window has no answer
    std::int64_t end = 0;
  };
  struct HeldOut {
    readers::Question question;
    std::size_t first_row = 0;
    std::size_t rows = 0;
  };
  struct Found;

  void add_question(Split split, const readers::Question& question, const std::string& file, ReadSummary& summary);
  std::vector<Found> find_answers(Kept kept) const;
  bool may_lack_answers() const;  // whether a held-out question has no answer, as in SQuAD 2.0

  std::vector<Target> targets_;
  std::vector<HeldOut> questions_;
  std::vector<text::Encoding> windows_;  // of held-out rows, as far as answers need them
};

}  // namespace weft::fine_tuning
