// SPDX-License-Identifier: Apache-2.0
// HotpotQA (Yang et al. 2018): a question over several paragraphs, its answer, and the sentences that support it.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "weft/readers/json_document_reader.h"
#include "weft/readers/open_answers/json_parts.h"
#include "weft/readers/reader.h"

namespace weft::readers {

/// A sentence of a paragraph, by the paragraph's title.
struct SupportingFact {
  std::string title;
  std::int64_t sentence = 0;  ///< from 0

  auto operator<=>(const SupportingFact&) const = default;
};

struct HotpotParagraph {
  std::string title;
  std::vector<std::string> sentences;
};

struct HotpotQuestion {
  std::string id;
  std::string question;  ///< empty under kGold
  std::string answer;    ///< a span of the paragraphs, "yes" or "no"
  std::string type;      ///< "bridge" or "comparison"; empty where the file has none
  std::string level;     ///< "easy", "medium" or "hard"; empty where the file has none
  std::vector<SupportingFact> facts;
  std::vector<HotpotParagraph> paragraphs;  ///< none under kGold
};

/// The fact at `json`, [title, sentence]. Errors: MalformedRecord that names `where`.
SupportingFact supporting_fact(const formats::Json& json, const std::string& where);

/// Questions of a file, a JSON array (plain or gzip), in its order. Malformed: a question that lacks `_id`, `answer` or
/// `supporting_facts`, or whose id a question before has; under kWhole also one without `question` or paragraphs, and a
/// fact that names no sentence.
class HotpotReader final : public Reader<HotpotQuestion> {
 public:
  explicit HotpotReader(const std::filesystem::path& path, const ReadOptions& options = {},
                        QuestionPart part = QuestionPart::kWhole);

 protected:
  bool read(HotpotQuestion& question) override;

 private:
  std::string name_;
  JsonDocumentReader records_;
  QuestionPart part_;
  QuestionIds ids_;
};

}  // namespace weft::readers
