// SPDX-License-Identifier: Apache-2.0
// The texts of files and folders with their ids, for a store: records of JSON, tables and FASTA, folders of BEIR, and
// files that are one text each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "weft/readers/input/input_texts.h"
#include "weft/readers/reader.h"
#include "weft/store/texts/corpus_text.h"

namespace weft::store {

struct CorpusOptions {
  std::string format = "auto";       ///< one of readers::kInputFormats; lines: each line is a text
  std::string text_field = {};       ///< column or JSON field of the text; empty: one of readers::kTextFields
  bool skip_malformed = false;       ///< count what cannot be read, and go on behind it
  std::filesystem::path store = {};  ///< is no text where a folder has it, nor is what SQLite keeps beside it
};

/// Texts in the order of the files. A folder with corpus.jsonl (or corpus.jsonl.gz) is one of BEIR, and that file is
/// read; a warning says which files are left out that BEIR has not. Any other folder is all files below it. What a file
/// is, readers::decide_kind() says: records of JSON, tables and FASTA are a text each, and any other file is one text,
/// whose id is its path, within a folder that was named. The id of a record is its field _id, id, doc_id, docid or pid
/// (of FASTA its name), a text or a whole number; of one without such a field the file's path, ':' and the record's
/// number. Its title is the field `title`.
class CorpusReader {
 public:
  /// Errors: as readers::list_files().
  CorpusReader(const std::vector<std::string>& paths, const CorpusOptions& options);

  /// The next text; false behind the last. Errors: as readers::InputTexts, and kFormat for a text that is not UTF-8,
  /// unless malformed ones are skipped, of which a file that holds no text is one; kUnsupported for SQuAD and sentences
  /// in columns, which are no texts by id.
  bool next(CorpusText& text);
  const readers::ReadReport& report() const noexcept { return report_; }

 private:
  struct Source {
    std::filesystem::path file;
    std::string id;  // of the whole file
  };
  void add_sources(const std::string& path);
  bool open_next();
  void open(const Source& source);
  bool read(CorpusText& text);
  void take(readers::InputText& record, CorpusText& text) const;

  CorpusOptions options_;
  std::vector<Source> sources_;
  std::size_t next_ = 0;
  std::string format_;                          // of the file that is open
  std::int64_t number_ = 0;                     // of the record in its file
  std::optional<readers::InputTexts> records_;  // of the file that is open
  std::optional<CorpusText> whole_;             // the file that is open, where it is a text
  readers::ReadReport report_;
};

}  // namespace weft::store
