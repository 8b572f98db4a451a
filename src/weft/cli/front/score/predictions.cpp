// SPDX-License-Identifier: Apache-2.0
// A file of predictions is read whole: it holds a few words a question.
#include "weft/cli/front/score/predictions.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/formats/python_json.h"
#include "weft/readers/byte_source.h"
#include "weft/readers/input/file_kind.h"
#include "weft/readers/input/input_texts.h"
#include "weft/readers/input/no_text.h"
#include "weft/readers/json_lines_reader.h"
#include "weft/readers/open_answers/json_parts.h"

namespace weft::cli {
namespace {

using formats::Json;

// A file of predictions that was opened, and what stands in it: lines, or one object.
struct OpenedPredictions {
  readers::ByteSource bytes;
  std::string name;
  bool lines = false;
};

// Whether the text is one object a line, as `weft eval --predictions FILE.jsonl` writes them: a line that is an object,
// and another behind it, or none where it names a question and its answer, rightly or not, as the line of one does.
bool looks_like_lines(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  const std::string_view line = text.substr(0, text.find('\n'));
  Json object;
  try {
    object = formats::parse_python_json(std::string(line), "");
  } catch (const Error&) {
    return false;  // goes on, or is none, which the reader says
  }
  const bool more = text.find_first_not_of(kBlanks, line.size()) != std::string_view::npos;
  const bool named = object.contains("id") || object.contains("_id");
  const bool answered = object.contains("answer") && !object["answer"].is_object();
  return object.is_object() && (more || object.contains("example_id") || (named && answered));
}

OpenedPredictions open_predictions(const std::string& path) {
  constexpr std::size_t kHead = std::size_t{1} << 20;
  OpenedPredictions opened{.bytes = readers::ByteSource::stream(path), .name = {}};
  opened.name = opened.bytes.name();
  readers::refuse_no_text(opened.bytes);
  opened.lines = readers::format_of_name(path) == "jsonl" || looks_like_lines(opened.bytes.head(kHead));
  return opened;
}

Json read_object(OpenedPredictions& opened) {
  Json json = formats::parse_python_json(readers::read_whole_text(std::move(opened.bytes)), opened.name);
  if (!json.is_object()) {
    fail(ErrorKind::kFormat, opened.name, ": predictions must be a JSON object, found an item of type ",
         json.type_name());
  }
  return json;
}

const Json& object_member(const Json& json, const char* name, const std::string& where) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_object()) {
    fail(ErrorKind::kFormat, where, ": expected an object at '", name, "', found ",
         found == json.end() ? "none" : found->type_name());
  }
  return *found;
}

std::string answer_text(const Json& value, const std::string& question, const std::string& where) {
  if (!value.is_string()) {
    fail(ErrorKind::kFormat, where, ": the prediction of ", quote(question), " must be a string, found ",
         value.type_name());
  }
  return value.get<std::string>();
}

// Calls visit(id, object, where) for each line. Errors: kFormat for a question that is there twice.
void for_each_line(OpenedPredictions& opened,
                   const std::function<void(const std::string&, const Json&, const std::string&)>& visit) {
  readers::JsonLinesReader lines(std::move(opened.bytes));
  std::set<std::string> seen;
  for (readers::JsonRecord record; lines.next(record);) {
    const std::string where = concat(opened.name, " line ", record.line);
    const std::string question = readers::string_field(record.object, "id", where);
    if (!seen.insert(question).second) {
      fail(ErrorKind::kFormat, where, ": question ", quote(question), " has a prediction already");
    }
    visit(question, record.object, where);
  }
}

std::vector<readers::SupportingFact> facts_of(const Json& facts, const std::string& where) {
  std::vector<readers::SupportingFact> found;
  found.reserve(facts.size());
  for (const Json& fact : facts) {
    found.push_back(readers::supporting_fact(fact, where));
  }
  return found;
}

double score_field(const Json& json, const char* name, const std::string& where) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number()) {
    fail(ErrorKind::kFormat, where, ": expected a number at '", name, "', found ",
         found == json.end() ? "none" : found->type_name());
  }
  const auto score = found->get<double>();
  if (!std::isfinite(score)) {
    const char* text = std::isnan(score) ? "NaN" : score > 0 ? "Infinity" : "-Infinity";
    fail(ErrorKind::kFormat, where, ": expected a finite number at '", name, "', found ", text);
  }
  return score;
}

// As the official program: yes or no stands beside no short span. Of annotations it asks no such thing.
void check_one_short_answer(const readers::PageAnswer& answer, const std::string& where) {
  using YesNo = readers::PageAnswer::YesNo;
  if (answer.yes_no != YesNo::kNone && answer.has_short_spans()) {
    fail(ErrorKind::kFormat, where, ": expected yes or no at 'yes_no_answer', or spans in 'short_answers', found ",
         answer.yes_no == YesNo::kYes ? "YES" : "NO", " and spans");
  }
}

metrics::PagePrediction page_prediction(const Json& json, const std::string& where) {
  metrics::PagePrediction prediction;
  if (json.contains("long_answer")) {
    prediction.answer.long_answer = readers::page_span(json["long_answer"], where);
  }
  if (json.contains("short_answers")) {
    for (const Json& span : readers::list_field(json, "short_answers", where)) {
      prediction.answer.short_answers.push_back(readers::page_span(span, where));
    }
  }
  if (json.contains("yes_no_answer")) {
    prediction.answer.yes_no = readers::yes_no_field(json, "yes_no_answer", where);
  }
  check_one_short_answer(prediction.answer, where);
  prediction.long_score = score_field(json, "long_answer_score", where);
  prediction.short_score = score_field(json, "short_answers_score", where);
  return prediction;
}

}  // namespace

TextPredictions::TextPredictions(const std::string& path) {
  OpenedPredictions opened = open_predictions(path);
  if (opened.lines) {
    for_each_line(opened, [&](const std::string& question, const Json& line, const std::string& where) {
      answers_.emplace(question, readers::string_field(line, "answer", where));
    });
    return;
  }
  const Json predictions = read_object(opened);
  for (const auto& [question, answer] : predictions.items()) {
    answers_.emplace(question, answer_text(answer, question, opened.name));
  }
}

std::optional<std::string> TextPredictions::of(const std::string& question) const {
  const auto found = answers_.find(question);
  return found == answers_.end() ? std::nullopt : std::optional(found->second);
}

HotpotPredictions::HotpotPredictions(const std::string& path) {
  OpenedPredictions opened = open_predictions(path);
  if (opened.lines) {
    for_each_line(opened, [&](const std::string& question, const Json& line, const std::string& where) {
      metrics::HotpotPrediction& prediction = predictions_[question];
      prediction.answer = readers::string_field(line, "answer", where);
      prediction.facts = facts_of(readers::list_field(line, "sp", where), where);
    });
    return;
  }
  const std::string& where = opened.name;
  const Json json = read_object(opened);
  for (const auto& [question, answer] : object_member(json, "answer", where).items()) {
    predictions_[question].answer = answer_text(answer, question, where);
  }
  for (const auto& [question, facts] : object_member(json, "sp", where).items()) {
    const std::string place = concat(where, ", question ", quote(question));
    if (!facts.is_array()) {
      fail(ErrorKind::kFormat, place, ": expected a list of supporting facts, found ", facts.type_name());
    }
    predictions_[question].facts = facts_of(facts, place);
  }
}

metrics::HotpotPrediction HotpotPredictions::of(const std::string& question) const {
  const auto found = predictions_.find(question);
  return found == predictions_.end() ? metrics::HotpotPrediction{} : found->second;
}

PagePredictions::PagePredictions(const std::string& path) {
  OpenedPredictions opened = open_predictions(path);
  name_ = opened.name;
  if (opened.lines) {
    readers::JsonLinesReader lines(std::move(opened.bytes));
    for (readers::JsonRecord record; lines.next(record);) {
      add(record.object, concat(name_, " line ", record.line));
    }
    return;
  }
  const Json json = read_object(opened);
  std::int64_t number = 0;
  for (const Json& item : readers::list_field(json, "predictions", name_)) {
    add(item, concat(name_, ", prediction ", ++number));
  }
}

void PagePredictions::add(const Json& item, std::string where) {
  const std::int64_t question = readers::whole_number_field(item, "example_id", where);
  where += concat(" (question ", question, ")");
  metrics::PagePrediction prediction = page_prediction(item, where);
  if (!predictions_.emplace(question, std::move(prediction)).second) {
    fail(ErrorKind::kFormat, where, ": the question has a prediction already");
  }
}

metrics::PagePrediction PagePredictions::take(std::int64_t question) {
  const auto found = predictions_.find(question);
  if (found == predictions_.end()) {
    throw Error(ErrorKind::kFormat, concat(name_, ": question ", question, " has no prediction"),
                "a question without an answer has one with the spans -1 and a low score");
  }
  metrics::PagePrediction prediction = std::move(found->second);
  predictions_.erase(found);
  return prediction;
}

void PagePredictions::check_all_taken() const {
  if (!predictions_.empty()) {
    fail(ErrorKind::kFormat, name_, ": the prediction of question ", predictions_.begin()->first,
         " belongs to no question of the gold files");
  }
}

void SeenQuestions::add(const std::string& question, const std::string& file) {
  if (!questions_.insert(question).second) {
    fail(ErrorKind::kFormat, quote(file, 4096), ": question ", quote(question), " stands twice in the gold files");
  }
}

void SeenQuestions::end(const std::string& file) {
  if (questions_.size() == of_ended_files_) {
    fail(ErrorKind::kFormat, quote(file, 4096), " has no question");
  }
  of_ended_files_ = questions_.size();
}

}  // namespace weft::cli
