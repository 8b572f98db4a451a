// SPDX-License-Identifier: Apache-2.0
// WikiHop (Welbl et al. 2018): a relation and a subject, documents, and candidates, one of which is the answer.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weft/readers/json_document_reader.h"
#include "weft/readers/open_answers/json_parts.h"
#include "weft/readers/reader.h"

namespace weft::readers {

struct WikiHopQuestion {
  std::string id;
  std::string query;  ///< "relation subject", the relation without blanks; empty under kGold
  std::string answer;
  std::vector<std::string> candidates;
  std::vector<std::string> documents;  ///< none under kGold
};

/// Questions of a file, a JSON array (plain or gzip), in its order. Malformed: a question that lacks `id`, `answer` or
/// `candidates`, an answer that is no candidate, an id that a question before has; under kWhole also one without
/// `query` or documents (`supports`).
class WikiHopReader final : public Reader<WikiHopQuestion> {
 public:
  explicit WikiHopReader(const std::filesystem::path& path, const ReadOptions& options = {},
                         QuestionPart part = QuestionPart::kWhole);

 protected:
  bool read(WikiHopQuestion& question) override;

 private:
  std::string name_;
  JsonDocumentReader records_;
  QuestionPart part_;
  QuestionIds ids_;
};

}  // namespace weft::readers
