// SPDX-License-Identifier: Apache-2.0
// An answer and the sentences that support it, out of paragraphs that are all read at once (Yang et al. 2018; Beltagy
// et al. 2020, appendix; Zaheer et al. 2020, appendix E): linear scores on tokens of one row.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/fine_tuning/objective.h"
#include "weft/fine_tuning/open_answers/answer_spans.h"
#include "weft/fine_tuning/open_answers/row_writer.h"
#include "weft/metrics/open_answers/hotpot.h"
#include "weft/readers/open_answers/hotpot_reader.h"

namespace weft::fine_tuning {

/// Overrides as Objective describes them. A row is the question, then for each paragraph a separator, its title, and
/// its sentences, each with a mark behind it; the first token, the question, the separators and the marks are global.
/// The first token says whether the answer is a span, yes or no, a mark whether its sentence supports it (above 0), and
/// all tokens where a span starts and ends: a title or a sentence has it, in at most max_answer_length words. The loss
/// is the sum of these four. Data are HotpotQA's JSON. Figures are those of its program: em, f1, sp_em, sp_f1,
/// joint_em, joint_f1; and type_accuracy.
class HotpotObjective final : public Objective {
 public:
  /// Errors: kArgument for class weights and label smoothing, and for a tokeniser without separators.
  explicit HotpotObjective(Setup setup);

  HeadChoice choose_head() override;
  std::vector<std::pair<std::string, std::string>> remarks() const override;
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
  enum AnswerType : std::uint8_t { kSpan, kYes, kNo };

  /// A question as its row has it.
  struct Row {
    std::vector<RowPart> parts;                  // titles and sentences
    std::vector<std::int64_t> marks;             // behind each sentence
    std::vector<readers::SupportingFact> facts;  // what each mark stands for
    RowWriter tokens = {};
    std::int64_t left_out = 0;
  };
  struct Target {
    AnswerType type = kSpan;
    std::vector<std::int64_t> starts;  // of a span wherever it is spelled
    std::vector<std::int64_t> ends;
    std::vector<std::int64_t> marks;
    std::vector<bool> supports;  // of each mark
  };
  struct HeldOut {
    readers::HotpotQuestion question;  // without its paragraphs
    std::vector<RowPart> parts;
    std::vector<std::int64_t> marks;
    std::vector<readers::SupportingFact> facts;
  };
  /// What the numbers of a question come to.
  struct Said {
    AnswerType type = kSpan;
    metrics::HotpotPrediction prediction;
  };

  Row row_of(const readers::HotpotQuestion& question, const std::string& name) const;
  Target target_of(const readers::HotpotQuestion& question, const Row& row);
  void add_question(Split split, const readers::HotpotQuestion& question, const std::string& file,
                    ReadSummary& summary);
  std::vector<Said> said(Kept kept) const;

  RowMark begin_;
  RowMark separator_;
  RowMark sentence_;
  std::vector<Target> targets_;
  std::vector<HeldOut> questions_;
  std::int64_t without_place_ = 0;  // training questions whose answer is spelled nowhere
};

}  // namespace weft::fine_tuning
