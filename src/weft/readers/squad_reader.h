// SPDX-License-Identifier: Apache-2.0
// Questions on paragraphs in the JSON form of SQuAD 1.1 and 2.0. A file of any size is read a paragraph at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "weft/readers/byte_source.h"
#include "weft/readers/reader.h"

namespace weft::readers {

/// An answer as it stands in the context.
struct AnswerSpan {
  std::string text;
  std::int64_t start = 0;  ///< code points from the context's begin
};

/// One question. Those of one paragraph share their context.
struct Question {
  std::string id;
  std::string title;
  std::string question;
  std::shared_ptr<const std::string> context;
  std::vector<AnswerSpan> answers;  ///< none where it is impossible, and where answers are left out
  bool impossible = false;          ///< false throughout SQuAD 1.1, and where answers are left out
};

/// Whether the answers of questions are read: who only asks the questions needs none, and none are checked then.
enum class SquadAnswers { kRead, kLeftOut };

/// Questions of a file (plain or gzip), in its order. Malformed: a paragraph or question that lacks a field or has one
/// of another type, an answer that does not stand where it says, a possible question without an answer. JSON that is
/// broken itself ends the reading, also when malformed records are skipped.
class SquadReader final : public Reader<Question> {
 public:
  explicit SquadReader(const std::filesystem::path& path, const ReadOptions& options = {},
                       SquadAnswers answers = SquadAnswers::kRead);
  explicit SquadReader(ByteSource bytes, const ReadOptions& options = {}, SquadAnswers answers = SquadAnswers::kRead);
  ~SquadReader() override;

 protected:
  bool read(Question& question) override;

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace weft::readers
