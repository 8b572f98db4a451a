// SPDX-License-Identifier: Apache-2.0
// Where the texts of a task come from: texts that are given; a file, a pipe or standard input with a text a record; or
// whole files.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/readers/byte_source.h"
#include "weft/readers/input/input_texts.h"
#include "weft/tasks/documents.h"

namespace weft::tasks {

/// Texts; without any, the records of `file`, or of standard input where
/// that is empty or "-". One text "-" is standard input, too.
struct TextSource {
  std::vector<std::string> texts;
  std::string file;
  readers::InputTextOptions reading = {};  ///< `pairs`: a text is two
};

/// Whether the strings are texts: "-" alone is standard input, as everywhere on a command line.
bool are_texts(const std::vector<std::string>& texts);

/// A flag of `reading` that was given, such as "--format", for callers that read no records; empty where none was.
std::string given_reading_flag(const readers::InputTextOptions& reading);

/// Before a DocumentReader reads it. Errors: UsageError for texts beside a file or a flag of reading, and for a
/// terminal as standard input: a call without texts would wait for ever.
void check_source(const TextSource& source);
/// What is beside the texts alone.
void check_one_source(const TextSource& source);
/// The terminal alone. Errors: UsageError where standard input is one.
void refuse_terminal();

/// A record that could not be read: how many documents of the same part stand before it, and why.
struct UnreadRecord {
  std::size_t before = 0;
  std::string message;
};

/// The documents of a source, in order, some at a time: a file need not fit into memory.
class DocumentReader {
 public:
  /// `keep_fields`: documents keep the fields of their records, to be written again. Errors: those of InputTexts.
  /// `source` must outlive the reader.
  explicit DocumentReader(const TextSource& source, bool keep_fields = false);

  /// Up to `count` further documents; none at the end. With `unread`, records that are malformed are put there, and are
  /// of the count; at the end there is none of either. Errors: as InputTexts::next; kArgument for a source without any
  /// text.
  std::vector<tasks::Document> next(std::size_t count, std::vector<UnreadRecord>* unread = nullptr);

 private:
  bool read(readers::InputText& text);

  const TextSource& source_;
  std::optional<readers::InputTexts> records_;  // none: the texts are arguments
  std::size_t number_ = 0;
};

/// Looks at a file before it is read whole.
using LookAtFile = std::function<void(readers::ByteSource& file)>;

/// Whole files as documents; "-" is standard input. Errors: as readers::read_whole_text, and those of `look`.
std::vector<Document> whole_files(const std::vector<std::string>& paths, const LookAtFile& look = {});

}  // namespace weft::tasks
