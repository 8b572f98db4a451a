// SPDX-License-Identifier: Apache-2.0
// A file of predictions is read whole: it holds a few words a question.
#include "weft/cli/front/score/predictions.h"

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/readers/json_lines_reader.h"
#include "weft/readers/open_answers/json_parts.h"

namespace weft::cli {
namespace {

using formats::Json;

std::string name_of_predictions(const std::string& path) { return quote(path, 4096); }

Json read_predictions(const std::string& path) {
  Json json = formats::read_json(named_by_user(path));
  if (!json.is_object()) {
    fail(ErrorKind::kFormat, name_of_predictions(path), ": predictions must be a JSON object, found an item of type ",
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

// One question a line, as `weft eval --predictions FILE.jsonl` writes them.
bool has_lines(const std::string& path) { return path.ends_with(".jsonl"); }

// Calls visit(id, object, where) for each line. Errors: kFormat for a question that is there twice.
void for_each_line(const std::string& path,
                   const std::function<void(const std::string&, const Json&, const std::string&)>& visit) {
  readers::JsonLinesReader lines(path);
  std::set<std::string> seen;
  for (readers::JsonRecord record; lines.next(record);) {
    const std::string where = concat(name_of_predictions(path), " line ", record.line);
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
  if (std::isnan(score)) {
    fail(ErrorKind::kFormat, where, ": expected a number at '", name, "', found NaN");
  }
  return score;
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
  prediction.long_score = score_field(json, "long_answer_score", where);
  prediction.short_score = score_field(json, "short_answers_score", where);
  return prediction;
}

}  // namespace

TextPredictions::TextPredictions(const std::string& path) {
  if (has_lines(path)) {
    for_each_line(path, [&](const std::string& question, const Json& line, const std::string& where) {
      answers_.emplace(question, readers::string_field(line, "answer", where));
    });
    return;
  }
  const std::string where = name_of_predictions(path);
  const Json predictions = read_predictions(path);
  for (const auto& [question, answer] : predictions.items()) {
    answers_.emplace(question, answer_text(answer, question, where));
  }
}

std::optional<std::string> TextPredictions::of(const std::string& question) const {
  const auto found = answers_.find(question);
  return found == answers_.end() ? std::nullopt : std::optional(found->second);
}

HotpotPredictions::HotpotPredictions(const std::string& path) {
  if (has_lines(path)) {
    for_each_line(path, [&](const std::string& question, const Json& line, const std::string& where) {
      metrics::HotpotPrediction& prediction = predictions_[question];
      prediction.answer = readers::string_field(line, "answer", where);
      prediction.facts = facts_of(readers::list_field(line, "sp", where), where);
    });
    return;
  }
  const std::string where = name_of_predictions(path);
  const Json json = read_predictions(path);
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

PagePredictions::PagePredictions(const std::string& path) : name_(name_of_predictions(path)) {
  if (has_lines(path)) {
    readers::JsonLinesReader lines(path);
    for (readers::JsonRecord record; lines.next(record);) {
      add(record.object, concat(name_, " line ", record.line));
    }
    return;
  }
  const Json json = read_predictions(path);
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
  if (!taken_.insert(question).second) {
    fail(ErrorKind::kFormat, "question ", question, " stands twice in the gold files");
  }
  return found->second;
}

void PagePredictions::check_all_taken() const {
  for (const auto& [question, prediction] : predictions_) {
    if (!taken_.contains(question)) {
      fail(ErrorKind::kFormat, name_, ": the prediction of question ", question,
           " belongs to no question of the gold files");
    }
  }
}

void SeenQuestions::add(const std::string& question, const std::string& file) {
  if (!questions_.insert(question).second) {
    fail(ErrorKind::kFormat, quote(file, 4096), ": question ", quote(question), " stands twice in the gold files");
  }
}

}  // namespace weft::cli
