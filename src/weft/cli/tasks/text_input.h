// SPDX-License-Identifier: Apache-2.0
// Where the texts of a task come from: arguments, a file or standard input with one text a line, or whole files.
#pragma once

#include <cstdint>
#include <fstream>
#include <istream>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "weft/tasks/documents.h"

namespace weft::cli {

/// What a command was given. Texts are the arguments; without any, the lines of `file`, or of standard input where that
/// is empty or "-".
struct TextSource {
  std::vector<std::string> texts;
  std::string file;
  bool pairs = false;  ///< a text is two, with a tab between
};

/// Adds the arguments TEXT..., --file, and --pairs where a task knows what to do with two texts.
void add_text_arguments(CLI::App& app, TextSource& source, bool with_pairs);

/// The documents of a source, in order, some at a time: a file need not fit into memory.
class DocumentReader {
 public:
  /// Errors: UsageError for texts beside a file, and for a terminal as standard input; kIo for a file that cannot be
  /// read. `source` must outlive the reader.
  explicit DocumentReader(const TextSource& source);

  /// Up to `count` further documents; none at the end. The end of a line is no part of its text. Errors: kIo; kArgument
  /// for a line without its tab, and for a source without any text.
  std::vector<tasks::Document> next(std::size_t count);

 private:
  bool read_text(std::string& text);
  tasks::Document document_of(std::string text) const;

  const TextSource& source_;
  std::ifstream file_;
  std::istream* lines_ = nullptr;  // null: the texts are arguments
  std::string kind_ = "text";      // "text 3" or "line 3" in messages
  std::int64_t number_ = 0;
};

/// Whole files as documents; "-" is standard input. Errors: kIo.
std::vector<tasks::Document> whole_files(const std::vector<std::string>& paths);

}  // namespace weft::cli
