// SPDX-License-Identifier: Apache-2.0
// A question is in memory at a time.
#include "weft/readers/open_answers/wikihop_reader.h"

#include <algorithm>

#include "weft/core/quote.h"

namespace weft::readers {

WikiHopReader::WikiHopReader(const std::filesystem::path& path, const ReadOptions& options, QuestionPart part)
    : Reader(options),
      name_(quote(path.native(), 4096)),
      records_(path, {.max_record_bytes = options.max_record_bytes}),
      part_(part) {}

bool WikiHopReader::read(WikiHopQuestion& question) {
  JsonRecord record;
  if (!records_.next(record)) {
    return false;
  }
  std::string where = concat(name_, " line ", record.line);
  question = {.id = string_field(record.object, "id", where)};
  where += ", question " + quote(question.id);
  question.answer = string_field(record.object, "answer", where);
  question.candidates = strings_field(record.object, "candidates", where);
  if (std::find(question.candidates.begin(), question.candidates.end(), question.answer) == question.candidates.end()) {
    malformed(where, ": the answer ", quote(question.answer), " must be one of the ", question.candidates.size(),
              " candidates, found none that equals it");
  }
  if (part_ == QuestionPart::kWhole) {
    question.query = string_field(record.object, "query", where);
    question.documents = strings_field(record.object, "supports", where);
    if (question.documents.empty()) {
      malformed(where, ": expected at least one document in 'supports', found none");
    }
  }
  ids_.add(question.id, where);
  return true;
}

}  // namespace weft::readers
