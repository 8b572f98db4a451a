// SPDX-License-Identifier: Apache-2.0
// Natural Questions (Kwiatkowski et al. 2019): a question, a page of Wikipedia, and what each of several annotators
// marked in it: a long answer, short answers in it, or yes or no.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/readers/json_lines_reader.h"
#include "weft/readers/open_answers/json_parts.h"
#include "weft/readers/reader.h"

namespace weft::readers {

/// A place in the page, by bytes of its HTML, by tokens, or both; what is not given is -1.
struct PageSpan {
  std::int64_t start_byte = -1;
  std::int64_t end_byte = -1;
  std::int64_t start_token = -1;
  std::int64_t end_token = -1;

  bool has_bytes() const noexcept { return start_byte >= 0; }
  bool has_tokens() const noexcept { return start_token >= 0; }
  bool none() const noexcept { return !has_bytes() && !has_tokens(); }
  auto operator<=>(const PageSpan&) const = default;
};

/// What one annotator marked, or a model predicted.
struct PageAnswer {
  enum class YesNo : std::uint8_t { kNone, kYes, kNo };

  PageSpan long_answer;
  std::vector<PageSpan> short_answers;
  YesNo yes_no = YesNo::kNone;

  bool has_short_spans() const noexcept;
  /// Whether there is a short answer: a span, yes or no.
  bool has_short() const noexcept { return has_short_spans() || yes_no != YesNo::kNone; }
};

struct PageToken {
  std::string text;
  bool html = false;  ///< a tag
};

struct NaturalQuestion {
  std::int64_t id = 0;
  std::string question;              ///< empty under kGold
  std::vector<PageToken> tokens;     ///< none under kGold
  std::vector<PageSpan> candidates;  ///< paragraphs, tables and lists that may be the long answer; none under kGold
  std::vector<PageAnswer> annotations;
};

/// The span at `json`: four whole numbers. Errors: MalformedRecord naming `where` for one that is missing, for a start
/// without an end, and for a start that is not before its end.
PageSpan page_span(const formats::Json& json, const std::string& where);

/// "YES", "NO" or "NONE" at `name`, in any case. Errors: as page_span.
PageAnswer::YesNo yes_no_field(const formats::Json& json, const std::string& name, const std::string& where);

/// Questions of a file of JSON lines (plain or gzip), in the full form (`document_tokens`) or the simplified one
/// (`document_text`, tokens between blanks). Malformed: a question that lacks `example_id` or annotations, or whose id
/// a question before has, spans as page_span; under kWhole also one without text, and a span or candidate beyond it, by
/// tokens, or by bytes where the file says how many the page has. An annotation may say yes or no beside short spans:
/// the official program refuses that of predictions alone.
class NaturalQuestionsReader final : public Reader<NaturalQuestion> {
 public:
  explicit NaturalQuestionsReader(const std::filesystem::path& path, const ReadOptions& options = {},
                                  QuestionPart part = QuestionPart::kWhole);

 protected:
  bool read(NaturalQuestion& question) override;

 private:
  std::string name_;
  JsonLinesReader records_;
  QuestionPart part_;
  QuestionIds ids_;
};

}  // namespace weft::readers
