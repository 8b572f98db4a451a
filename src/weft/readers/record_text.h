// SPDX-License-Identifier: Apache-2.0
// Any text files and folders as one stream of texts: lines of text, the texts of records, and sequences of FASTA in
// lines of their own.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "weft/readers/fasta_reader.h"
#include "weft/readers/input/input_texts.h"
#include "weft/readers/reader.h"

namespace weft::readers {

/// How files are understood.
struct RecordTextOptions {
  bool dna = false;  ///< a file that begins with '>' is FASTA: its sequences come as lines of 500 to 1,000 bases
  ReadOptions reading = {};
  std::string format = "auto";  ///< one of kInputFormats
  std::string text_field = {};  ///< column or JSON field of the text; empty: one of kTextFields
};

/// Texts in the order of the files, as InputTexts has them, without empty ones; each ends with a line end. Without
/// `dna` a FASTA file is lines, which is said.
class RecordText {
 public:
  /// Errors: as list_files().
  RecordText(const std::vector<std::string>& paths, const RecordTextOptions& options);

  /// The next text, or false behind the last. Errors: as InputTexts; kFormat for a text that is not UTF-8 and for
  /// a file that holds no text, unless malformed records are skipped.
  bool next(std::string& text);
  /// Over all files so far.
  ReadReport report() const;
  /// Of the files on disk, compressed or not.
  std::int64_t total_bytes() const noexcept { return total_bytes_; }

 private:
  bool open_next();
  void open(const std::filesystem::path& file);
  bool read_one(std::string& text);
  bool next_text(std::string& text);
  bool next_sentence(std::string& text);
  void close();
  void skip(const MalformedRecord& error);

  RecordTextOptions options_;
  std::vector<std::filesystem::path> files_;
  std::size_t next_file_ = 0;
  std::int64_t total_bytes_ = 0;
  std::unique_ptr<InputTexts> texts_;
  std::unique_ptr<FastaReader> sequences_;
  std::deque<std::string> sentences_;
  std::int64_t sequence_ = 0;
  ReadReport report_;  // but for the sequences of a file that is open
};

}  // namespace weft::readers
