// SPDX-License-Identifier: Apache-2.0
// Where pairs of texts come from that are there already: two aligned files, one file of records with both, or two
// texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/readers/input/input_texts.h"
#include "weft/tasks/documents.h"

namespace weft::tasks {

/// One of the three.
struct PairSource {
  std::string source;                      ///< a file with a text a line
  std::string target;                      ///< its translations, line by line
  std::string file;                        ///< records with both
  readers::InputTextOptions reading = {};  ///< fields "source" and "target" are found in any capitals
  std::vector<std::string> texts;          ///< a text and its translation
};

/// Before a PairInput reads it. Errors: UsageError for none or several of the three, for settings of records without
/// such a file, and where both files are standard input.
void check_pairs(const PairSource& pairs);

/// Lines of a file, with their number; "-" is standard input.
class NumberedLines {
 public:
  /// Errors: as readers::ByteSource.
  explicit NumberedLines(const std::string& path);
  /// Errors: kFormat for a line that is not UTF-8.
  bool next(readers::InputText& line);
  /// Reads on to the end, and gives the number of all lines.
  std::int64_t count_all();
  const std::string& name() const noexcept { return name_; }

 private:
  std::string name_;
  readers::InputTexts lines_;
  std::int64_t count_ = 0;
};

/// A kFormat error that says how many lines each of two files has, of which one has ended.
[[noreturn]] void fail_on_line_counts(NumberedLines& first, NumberedLines& second);

/// The pairs, in order, some at a time. Empty texts are texts too. A document's fields are those of its record, or
/// "source" and "target".
class PairInput {
 public:
  /// `keep_fields`: as in DocumentReader. Errors: those of the files. `source` must outlive it.
  PairInput(const PairSource& source, bool keep_fields);

  /// Up to `count` further pairs; none at the end. Errors: kFormat naming file and line, for files of different lengths
  /// too; kArgument for files without a pair.
  std::vector<Document> next(std::size_t count);

 private:
  bool read(Document& pair);
  bool read_lines(Document& pair);

  const PairSource& source_;
  std::optional<readers::InputTexts> records_;
  std::optional<NumberedLines> sources_;
  std::optional<NumberedLines> targets_;
  std::int64_t number_ = 0;
};

}  // namespace weft::tasks
