// SPDX-License-Identifier: Apache-2.0
// A question is in memory at a time, with its ten paragraphs or as many as there are.
#include "weft/readers/open_answers/hotpot_reader.h"

#include <algorithm>
#include <utility>

#include "weft/core/quote.h"

namespace weft::readers {
namespace {

using formats::Json;

std::vector<HotpotParagraph> hotpot_paragraphs(const Json& question, const std::string& where) {
  const Json& list = list_field(question, "context", where);
  std::vector<HotpotParagraph> paragraphs;
  paragraphs.reserve(list.size());
  for (const Json& item : list) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_string()) {
      malformed(where, ": expected [title, sentences] in 'context', found ",
                item.is_array() ? concat("a list of ", item.size()) : std::string(item.type_name()));
    }
    const Json named = {{"sentences", item[1]}};
    paragraphs.push_back({item[0].get<std::string>(), strings_field(named, "sentences", where)});
  }
  if (paragraphs.empty()) {
    malformed(where, ": expected at least one paragraph in 'context', found none");
  }
  return paragraphs;
}

// Several paragraphs may have one title: one of them must have the sentence.
void check_fact(const SupportingFact& fact, const std::vector<HotpotParagraph>& paragraphs, const std::string& where) {
  std::size_t most = 0;
  bool found = false;
  for (const HotpotParagraph& paragraph : paragraphs) {
    if (paragraph.title == fact.title) {
      found = true;
      most = std::max(most, paragraph.sentences.size());
    }
  }
  if (!found) {
    malformed(where, ": a supporting fact names the paragraph ", quote(fact.title), ", found none of that title");
  }
  if (fact.sentence < 0 || static_cast<std::size_t>(fact.sentence) >= most) {
    malformed(where, ": a supporting fact names sentence ", fact.sentence, " of ", quote(fact.title), ", which has ",
              most, ", counted from 0");
  }
}

}  // namespace

SupportingFact supporting_fact(const Json& json, const std::string& where) {
  if (!json.is_array() || json.size() != 2 || !json[0].is_string() || !json[1].is_number_integer()) {
    malformed(where, ": a supporting fact must be [title, number of its sentence], found ",
              quote(json.dump(-1, ' ', false, Json::error_handler_t::replace)));
  }
  return {json[0].get<std::string>(), whole_number_field({{"sentence", json[1]}}, "sentence", where)};
}

HotpotReader::HotpotReader(const std::filesystem::path& path, const ReadOptions& options, QuestionPart part)
    : Reader(options),
      name_(quote(path.native(), 4096)),
      records_(path, {.max_record_bytes = options.max_record_bytes}),
      part_(part) {}

bool HotpotReader::read(HotpotQuestion& question) {
  JsonRecord record;
  if (!records_.next(record)) {
    return false;
  }
  std::string where = concat(name_, " line ", record.line);
  question = {.id = string_field(record.object, "_id", where)};
  where += ", question " + quote(question.id);
  question.answer = string_field(record.object, "answer", where);
  question.type = optional_string(record.object, "type", where);
  question.level = optional_string(record.object, "level", where);
  for (const Json& fact : list_field(record.object, "supporting_facts", where)) {
    question.facts.push_back(supporting_fact(fact, where));
  }
  if (part_ == QuestionPart::kWhole) {
    question.question = string_field(record.object, "question", where);
    question.paragraphs = hotpot_paragraphs(record.object, where);
    for (const SupportingFact& fact : question.facts) {
      check_fact(fact, question.paragraphs, where);
    }
  }
  ids_.add(question.id, where);
  return true;
}

}  // namespace weft::readers
