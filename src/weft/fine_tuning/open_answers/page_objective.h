// SPDX-License-Identifier: Apache-2.0
// The part of a page that answers a question, and a short answer in it, yes or no (Kwiatkowski et al. 2019; Alberti et
// al. 2019; Zaheer et al. 2020, appendix E).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/fine_tuning/objective.h"
#include "weft/fine_tuning/open_answers/answer_spans.h"
#include "weft/fine_tuning/open_answers/stored_parts.h"
#include "weft/metrics/open_answers/natural_questions.h"
#include "weft/readers/open_answers/natural_questions_reader.h"

namespace weft::fine_tuning {

/// Overrides as Objective describes them. A row is a window of the page's text, without tags, behind the question,
/// which is global. The first token says what the window has: no answer, yes, no, a short answer, a long one alone; all
/// tokens where the short and the long answer of the first annotator who marked one start and end, the first token
/// where the window has not got them whole. The loss is the sum of these five cross entropies. A candidate's score is
/// the sum of its start and end less that of the first token, in the window where it is largest; the short answer is
/// the surest span in the best candidate there, of at most max_answer_length words, or yes or no where these are surer
/// than a short one. Data are the lines of Natural Questions. Figures are those of its program at the best threshold:
/// long_f1, long_precision, long_recall, short_f1, short_precision, short_recall.
/// A question with fewer than two annotators has no answer there, which findings() doubt.
class PageObjective final : public Objective {
 public:
  /// Errors: kArgument for class weights and label smoothing.
  explicit PageObjective(Setup setup);

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
  enum AnswerType : std::uint8_t { kNull, kYes, kNo, kShort, kLong };

  /// The text of a page, and where its tokens that are no tags stand in it.
  struct Page {
    std::string text;
    std::vector<text::Span> bytes;  // of each token; empty ones of tags
  };
  /// Of a window: places of its row, the first token for none.
  struct Target {
    AnswerType type = kNull;
    TokenSpan short_answer;
    TokenSpan long_answer;
  };
  /// A candidate that lies in a window whole.
  struct Shown {
    std::size_t candidate = 0;
    TokenSpan tokens;
  };
  struct Window {
    RowPart part;
    std::vector<Shown> candidates;
  };
  struct HeldOut {
    readers::NaturalQuestion question;  // without the page's tokens
    std::vector<text::Span> bytes;      // as Page has them
    std::size_t first_row = 0;
    std::size_t rows = 0;
  };

  static Page page_of(const readers::NaturalQuestion& question);
  static Target target_of(const readers::NaturalQuestion& question, const Page& page, const Window& window);
  Window window_of(const readers::NaturalQuestion& question, const Page& page, const text::Encoding& encoding) const;
  void add_question(Split split, readers::NaturalQuestion question, const std::string& file, ReadSummary& summary);
  metrics::PagePrediction prediction_of(const HeldOut& held_out, Kept numbers) const;
  std::vector<metrics::PagePrediction> find_answers(Kept kept) const;
  metrics::NaturalQuestionsScorer scored(const std::vector<metrics::PagePrediction>& answers) const;

  std::vector<Target> targets_;
  StoredParts parts_;                           // of held-out rows
  std::vector<std::vector<Shown>> candidates_;  // of each of them
  std::vector<HeldOut> questions_;
};

}  // namespace weft::fine_tuning
