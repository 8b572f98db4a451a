// SPDX-License-Identifier: Apache-2.0
// The simplified form has spans in tokens only; the full form has both.
#include "weft/readers/open_answers/natural_questions_reader.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "weft/core/quote.h"
#include "weft/core/text/small_letters.h"

namespace weft::readers {
namespace {

using formats::Json;

void check_ends(std::int64_t start, std::int64_t end, const char* unit, const std::string& where) {
  if ((start < 0) != (end < 0)) {
    malformed(where, ": a span must have both ends in ", unit, "s or neither, found ", start, " to ", end);
  }
  if (start >= 0 && start >= end) {
    malformed(where, ": a span must begin before its end, found ", unit, "s ", start, " to ", end);
  }
}

// Spans of the simplified form have no bytes.
std::int64_t end_of(const Json& json, const char* name, bool needed, const std::string& where) {
  return needed || json.contains(name) ? whole_number_field(json, name, where) : -1;
}

std::vector<PageToken> tokens_of_text(std::string_view text) {
  std::vector<PageToken> tokens;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view token = text.substr(begin, end - begin);
    tokens.push_back({std::string(token), token.size() > 2 && token.front() == '<' && token.back() == '>'});
    begin = end + 1;
  }
  return tokens;
}

std::vector<PageToken> page_tokens(const Json& json, const std::string& where) {
  if (!json.contains("document_tokens")) {
    return tokens_of_text(string_field(json, "document_text", where));
  }
  const Json& list = list_field(json, "document_tokens", where);
  std::vector<PageToken> tokens;
  tokens.reserve(list.size());
  for (const Json& token : list) {
    tokens.push_back({string_field(token, "token", where), optional_truth(token, "html_token", where)});
  }
  if (tokens.empty()) {
    malformed(where, ": expected tokens in 'document_tokens', found none");
  }
  return tokens;
}

// Where the page ends.
struct PageEnds {
  std::size_t tokens = 0;
  std::optional<std::int64_t> bytes;  // nothing in the simplified form
};

// Spans count bytes of `document_html` in UTF-8, where tokens lie too. Files that people made smaller may lack either,
// or have it empty.
std::optional<std::int64_t> page_bytes(const Json& json, const std::string& where) {
  std::int64_t end = std::ssize(optional_string(json, "document_html", where));
  if (json.contains("document_tokens")) {
    for (const Json& token : list_field(json, "document_tokens", where)) {
      end = std::max(end, token.contains("end_byte") ? whole_number_field(token, "end_byte", where) : 0);
    }
  }
  return end > 0 ? std::optional(end) : std::nullopt;
}

std::vector<PageSpan> long_candidates(const Json& json, const std::string& where) {
  const Json& list = list_field(json, "long_answer_candidates", where);
  std::vector<PageSpan> candidates;
  candidates.reserve(list.size());
  for (const Json& item : list) {
    candidates.push_back(page_span(item, where));
  }
  return candidates;
}

PageAnswer page_answer(const Json& json, const std::string& where) {
  const auto answer = json.is_object() ? json.find("long_answer") : json.end();
  if (answer == json.end()) {
    malformed(where, ": an annotation must have a 'long_answer', found none");
  }
  PageAnswer result{page_span(*answer, where), {}, yes_no_field(json, "yes_no_answer", where)};
  for (const Json& span : list_field(json, "short_answers", where)) {
    result.short_answers.push_back(page_span(span, where));
  }
  return result;
}

void check_within(const PageSpan& span, const PageEnds& page, const std::string& where) {
  if (span.has_tokens() && std::cmp_greater(span.end_token, page.tokens)) {
    malformed(where, ": a span ends at token ", span.end_token, ", and the page has ", page.tokens);
  }
  if (page.bytes && span.end_byte > *page.bytes) {
    malformed(where, ": a span ends at byte ", span.end_byte, ", and the page has ", *page.bytes);
  }
}

void check_spans(const NaturalQuestion& question, const PageEnds& page, const std::string& where) {
  for (const PageSpan& candidate : question.candidates) {
    check_within(candidate, page, where);
  }
  for (const PageAnswer& annotation : question.annotations) {
    check_within(annotation.long_answer, page, where);
    for (const PageSpan& span : annotation.short_answers) {
      check_within(span, page, where);
    }
  }
}

}  // namespace

bool PageAnswer::has_short_spans() const noexcept {
  return std::any_of(short_answers.begin(), short_answers.end(), [](const PageSpan& span) { return !span.none(); });
}

PageSpan page_span(const Json& json, const std::string& where) {
  if (!json.is_object()) {
    malformed(where, ": a span must be an object with start_token and end_token, found ", json.type_name());
  }
  const bool bytes = json.contains("start_byte") || json.contains("end_byte");
  const PageSpan span{end_of(json, "start_byte", bytes, where), end_of(json, "end_byte", bytes, where),
                      whole_number_field(json, "start_token", where), whole_number_field(json, "end_token", where)};
  check_ends(span.start_byte, span.end_byte, "byte", where);
  check_ends(span.start_token, span.end_token, "token", where);
  return span;
}

PageAnswer::YesNo yes_no_field(const Json& json, const std::string& name, const std::string& where) {
  const std::string given = string_field(json, name, where);
  const std::string text = small_letters(given);
  if (text == "none") {
    return PageAnswer::YesNo::kNone;
  }
  if (text != "yes" && text != "no") {
    malformed(where, ": expected YES, NO or NONE at '", name, "', found ", quote(given));
  }
  return text == "yes" ? PageAnswer::YesNo::kYes : PageAnswer::YesNo::kNo;
}

NaturalQuestionsReader::NaturalQuestionsReader(const std::filesystem::path& path, const ReadOptions& options,
                                               QuestionPart part)
    : Reader(options),
      name_(quote(path.native(), 4096)),
      records_(path, {.max_record_bytes = options.max_record_bytes}),
      part_(part) {}

bool NaturalQuestionsReader::read(NaturalQuestion& question) {
  JsonRecord record;
  if (!records_.next(record)) {
    return false;
  }
  std::string where = concat(name_, " line ", record.line);
  question = {.id = whole_number_field(record.object, "example_id", where)};
  where += concat(", question ", question.id);
  for (const Json& annotation : list_field(record.object, "annotations", where)) {
    question.annotations.push_back(page_answer(annotation, where));
  }
  if (question.annotations.empty()) {
    malformed(where, ": expected at least one annotation, found none");
  }
  if (part_ == QuestionPart::kWhole) {
    question.question = string_field(record.object, "question_text", where);
    question.tokens = page_tokens(record.object, where);
    question.candidates = long_candidates(record.object, where);
    check_spans(question, {question.tokens.size(), page_bytes(record.object, where)}, where);
  }
  ids_.add(concat(question.id), where);
  return true;
}

}  // namespace weft::readers
