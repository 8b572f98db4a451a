// SPDX-License-Identifier: Apache-2.0
// Which of many candidates answers a question over many documents, all read at once (Beltagy et al. 2020, section 5 and
// appendix): a linear score on a mark before each candidate.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/fine_tuning/objective.h"
#include "weft/fine_tuning/open_answers/row_writer.h"
#include "weft/readers/open_answers/wikihop_reader.h"

namespace weft::fine_tuning {

/// Overrides as Objective describes them. A row is the question, a mark before each candidate, and as much of the
/// documents as fits; all but the documents is global. Where documents are longer, a question has several rows, which
/// are trained on one by one; held out, a candidate's score is the mean over them. Data are WikiHop's JSON. Figures:
/// accuracy, loss (nats a question).
class WikiHopObjective final : public Objective {
 public:
  /// Errors: kArgument for class weights and label smoothing, and for a tokeniser without separators.
  explicit WikiHopObjective(Setup setup);

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
  /// Of a row.
  struct Target {
    std::vector<std::int64_t> marks;  // places of the candidates' marks
    std::int64_t right = 0;           // which candidate answers
  };
  struct HeldOut {
    readers::WikiHopQuestion question;  // without its documents
    std::size_t first_row = 0;
    std::size_t rows = 0;
  };

  void add_question(Split split, readers::WikiHopQuestion question, const std::string& file, ReadSummary& summary);
  RowWriter begun(const readers::WikiHopQuestion& question, std::vector<std::int64_t>& marks) const;
  at::Tensor scores(const models::EncoderOutput& output, const TrainingBatch& batch) const;
  std::vector<std::vector<double>> mean_scores(Kept kept) const;
  std::vector<std::int64_t> right_ones() const;

  RowMark begin_;
  RowMark separator_;
  RowMark candidate_;
  BySplit<std::vector<Target>> targets_;
  std::vector<HeldOut> questions_;
};

}  // namespace weft::fine_tuning
