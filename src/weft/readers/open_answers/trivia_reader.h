// SPDX-License-Identifier: Apache-2.0
// TriviaQA (Joshi et al. 2017): a question, the names that its answer goes by, and documents in files of their own that
// were found to speak of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "weft/readers/open_answers/json_parts.h"
#include "weft/readers/reader.h"

namespace weft::readers {

/// A document of a question.
struct TriviaPage {
  enum class Source : std::uint8_t { kWikipedia, kWeb };

  Source source = Source::kWikipedia;
  std::string file;       ///< below the folder wikipedia or web of the evidence
  std::string title;      ///< empty where the file has none
  bool verified = false;  ///< a person has found the answer in it
};

struct TriviaQuestion {
  std::string id;
  std::string question;  ///< empty under kGold
  std::string answer;    ///< as people write it; empty under kGold
  std::vector<std::string> normalized_aliases;
  std::vector<std::string> human_answers;
  std::vector<TriviaPage> pages;  ///< those of Wikipedia first
  bool verified = false;
};

/// Questions of a file (plain or gzip), in its order. Malformed: a question that lacks `QuestionId` or `Answer`, a page
/// without `Filename` or with one that leads out of its folder, and no name at all in `NormalizedAliases` and
/// `HumanAnswers`, an id that a question before has; under kWhole also one without `Question` or without pages. What
/// the file says of itself is known once next() has returned false.
class TriviaReader final : public Reader<TriviaQuestion> {
 public:
  explicit TriviaReader(const std::filesystem::path& path, const ReadOptions& options = {},
                        QuestionPart part = QuestionPart::kWhole);
  ~TriviaReader() override;

  /// "Wikipedia" or "Web". Errors: kFormat where the file says neither.
  const std::string& domain() const;
  /// Whether only what is verified counts. Errors: kFormat where the file does not say it.
  bool verified_only() const;

 protected:
  bool read(TriviaQuestion& question) override;

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
};

/// The text of a page below `evidence`, the folder that holds wikipedia and web. Errors: kIo for a document that is not
/// there, and kFormat for a name that leads out of the folder.
std::string read_trivia_page(const std::filesystem::path& evidence, const TriviaPage& page);

}  // namespace weft::readers
