// SPDX-License-Identifier: Apache-2.0
// Sentences in columns, as the CoNLL shared tasks have them: a word a line, its columns between tabs or blanks, an
// empty line behind each sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/readers/reader.h"
#include "weft/readers/text_source.h"

namespace weft::readers {

/// Which columns are meant.
struct ConllOptions {
  std::int64_t word_column = 0;
  std::int64_t tag_column = -1;  ///< negative counts from the last
};

/// Words and their tags, equally many, and the line of the first.
struct TaggedSentence {
  std::vector<std::string> words;
  std::vector<std::string> tags;
  std::int64_t line = 0;
};

/// The columns of a line, tabs or blanks between them, where the last one is a tag as ConllReader has it; else 0.
std::size_t tagged_columns(std::string_view line);

/// A file (plain or gzip). Lines whose first column is -DOCSTART- are left out. Malformed: a line with fewer columns
/// than are asked for; a tag that is neither O nor B-, I-, E-, S-, L- or U- and a type; what is not UTF-8.
class ConllReader final : public Reader<TaggedSentence> {
 public:
  explicit ConllReader(const std::filesystem::path& path, const ConllOptions& columns = {},
                       const ReadOptions& options = {});
  explicit ConllReader(ByteSource bytes, const ConllOptions& columns = {}, const ReadOptions& options = {});

 protected:
  bool read(TaggedSentence& sentence) override;

 private:
  bool next_word(std::string& line);
  void add(const std::string& line, TaggedSentence& sentence);
  void skip_sentence();

  TextSource source_;
  ConllOptions columns_;
};

}  // namespace weft::readers
