// SPDX-License-Identifier: Apache-2.0
// Predictions in the forms that the official programs read, by the names of their questions, or the lines of
// `weft eval --predictions FILE.jsonl`, whichever stand in a file: one of any name, in gzip or UTF-16, a pipe, or
// standard input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "weft/formats/config_json.h"
#include "weft/metrics/open_answers/hotpot.h"
#include "weft/metrics/open_answers/natural_questions.h"

namespace weft::cli {

/// {"name of the question": "answer"}, or lines {"id", "answer"}: TriviaQA, WikiHop.
class TextPredictions {
 public:
  /// Errors: as readers::ByteSource and formats::parse_json; kFormat for a value that is no string.
  explicit TextPredictions(const std::string& path);
  std::optional<std::string> of(const std::string& question) const;

 private:
  std::map<std::string, std::string> answers_;
};

/// {"answer": {name: text}, "sp": {name: [[title, sentence], ...]}}, or lines {"id", "answer", "sp"}: HotpotQA.
class HotpotPredictions {
 public:
  /// Errors: as readers::ByteSource and formats::parse_json; kFormat that names the question.
  explicit HotpotPredictions(const std::string& path);
  metrics::HotpotPrediction of(const std::string& question) const;

 private:
  std::map<std::string, metrics::HotpotPrediction> predictions_;
};

/// {"predictions": [{"example_id", "long_answer", "long_answer_score", "short_answers", "short_answers_score",
/// "yes_no_answer"}, ...]}, or its items as lines: Natural Questions.
class PagePredictions {
 public:
  /// Errors: as readers::ByteSource and formats::parse_json; kFormat that names the question, also for a score that is
  /// not finite, and for yes or no beside short spans.
  explicit PagePredictions(const std::string& path);
  /// The prediction of a question, which is taken away. Errors: kFormat for a question that has none.
  metrics::PagePrediction take(std::int64_t question);
  /// Errors: kFormat where a prediction belongs to no question.
  void check_all_taken() const;

 private:
  void add(const formats::Json& item, std::string where);

  std::string name_;
  std::map<std::int64_t, metrics::PagePrediction> predictions_;
};

/// The questions of all gold files; the readers refuse one that stands twice in its file.
class SeenQuestions {
 public:
  /// Errors: kFormat for a question that a file before has.
  void add(const std::string& question, const std::string& file);
  /// Behind the last question of a file. Errors: kFormat for a file without a question.
  void end(const std::string& file);

 private:
  std::set<std::string> questions_;
  std::size_t of_ended_files_ = 0;
};

}  // namespace weft::cli
