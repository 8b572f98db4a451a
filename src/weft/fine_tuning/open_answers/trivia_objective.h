// SPDX-License-Identifier: Apache-2.0
// Answers that stand in long documents which were found to speak of a question, and not only once (Joshi et al. 2017;
// Beltagy et al. 2020, section 5; Zaheer et al. 2020, appendix E).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "weft/fine_tuning/objective.h"
#include "weft/fine_tuning/open_answers/answer_names.h"
#include "weft/fine_tuning/open_answers/answer_spans.h"
#include "weft/fine_tuning/open_answers/stored_parts.h"
#include "weft/readers/open_answers/trivia_reader.h"

namespace weft::fine_tuning {

/// Overrides as Objective describes them. A row is a window of a document behind the question, which is global. Learned
/// are windows that have a name of the answer: -log of the probability that all its places have together, the mean of
/// starts and ends. Data are TriviaQA's JSON, with the documents in a folder `evidence` beside the file or beside its
/// folder. The answer is the surest span of at most max_answer_length words in all documents of a question, in those of
/// Wikipedia; in files of the domain Web each document is scored by itself. Figures: exact_match and f1 in percent by
/// TriviaQA's program.
class TriviaObjective final : public Objective {
 public:
  /// Errors: kArgument for class weights and label smoothing.
  explicit TriviaObjective(Setup setup);

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
  /// What is asked of a file.
  struct Domain {
    std::filesystem::path file;
    std::filesystem::path evidence;
    bool of_pages = false;       // each document is scored by itself
    bool verified_only = false;  // and what is not verified not at all
  };
  struct Target {
    std::vector<std::int64_t> starts;
    std::vector<std::int64_t> ends;
  };
  /// A question, or with of_pages a question and a document.
  struct HeldOut {
    std::string name;
    readers::TriviaQuestion question;  // without its pages
    std::size_t first_row = 0;
    std::size_t rows = 0;
  };
  struct Found;
  struct ReadPage;

  void read_questions(Split split, const Domain& domain, ReadSummary& summary);
  void add_page(Split split, ReadPage page, const AnswerNames& answer);
  void add_question(Split split, const readers::TriviaQuestion& question, const Domain& domain, ReadSummary& summary);
  ReadPage read_page(const readers::TriviaQuestion& question, const readers::TriviaPage& page,
                     const Domain& domain) const;
  std::vector<Found> find_answers(Kept kept) const;

  std::vector<Target> targets_;
  std::vector<HeldOut> questions_;
  StoredParts parts_;                // of held-out rows
  std::int64_t without_answer_ = 0;  // windows that are not learned
};

}  // namespace weft::fine_tuning
