// SPDX-License-Identifier: Apache-2.0
// A sentence is a record: when one of its words is malformed, all of it is.
#include "weft/readers/conll_reader.h"

#include <string_view>
#include <utility>

#include "weft/core/quote.h"

namespace weft::readers {
namespace {

constexpr std::string_view kBlanks = " \t";

// Tabs separate where there is one, so that a column may hold blanks; else runs of blanks do.
std::vector<std::string_view> split_columns(std::string_view line) {
  const bool tabs = line.find('\t') != std::string_view::npos;
  std::vector<std::string_view> columns;
  while (!line.empty()) {
    const std::size_t end = std::min(tabs ? line.find('\t') : line.find(' '), line.size());
    if (tabs || end > 0) {
      columns.push_back(line.substr(0, end));
    }
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return columns;
}

bool is_tag(std::string_view tag) {
  constexpr std::string_view kPlaces = "BIESLU";
  return tag == "O" || (tag.size() > 2 && kPlaces.find(tag[0]) != std::string_view::npos && tag[1] == '-');
}

}  // namespace

std::size_t tagged_columns(std::string_view line) {
  const std::vector<std::string_view> columns = split_columns(line);
  return columns.size() > 1 && is_tag(columns.back()) ? columns.size() : 0;
}

ConllReader::ConllReader(const std::filesystem::path& path, const ConllOptions& columns, const ReadOptions& options)
    : ConllReader(ByteSource(path), columns, options) {}

ConllReader::ConllReader(ByteSource bytes, const ConllOptions& columns, const ReadOptions& options)
    : Reader(options), source_(std::move(bytes), options), columns_(columns) {
  require(columns.word_column >= 0, "word_column must be at least 0, found ", columns.word_column);
}

// The next line of a sentence, or false behind its last.
bool ConllReader::next_word(std::string& line) {
  return source_.next_line(line) && line.find_first_not_of(kBlanks) != std::string::npos;
}

void ConllReader::skip_sentence() {
  std::string line;
  while (next_word(line)) {
  }
}

void ConllReader::add(const std::string& line, TaggedSentence& sentence) {
  const std::vector<std::string_view> columns = split_columns(line);
  if (columns.front() == "-DOCSTART-") {
    return;
  }
  const auto count = static_cast<std::int64_t>(columns.size());
  const std::int64_t tag_column = columns_.tag_column < 0 ? count + columns_.tag_column : columns_.tag_column;
  if (columns_.word_column >= count || tag_column < 0 || tag_column >= count || tag_column == columns_.word_column) {
    malformed(source_.where(), ": a line must have a word in column ", columns_.word_column, " and a tag in column ",
              columns_.tag_column, ", found ", count, count == 1 ? " column" : " columns");
  }
  const std::string_view tag = columns[static_cast<std::size_t>(tag_column)];
  if (!is_tag(tag)) {
    malformed(source_.where(), ": a tag must be O, or B-, I-, E-, S-, L- or U- and a type, found ", quote(tag));
  }
  check_utf8(line, source_.where());
  sentence.line = sentence.words.empty() ? source_.line() : sentence.line;
  sentence.words.emplace_back(columns[static_cast<std::size_t>(columns_.word_column)]);
  sentence.tags.emplace_back(tag);
}

bool ConllReader::read(TaggedSentence& sentence) {
  sentence = {};
  std::string line;
  while (sentence.words.empty() && source_.peek() != TextSource::kEnd) {
    source_.begin_record();
    try {
      while (next_word(line)) {
        add(line, sentence);
      }
    } catch (const MalformedRecord&) {
      skip_sentence();
      throw;
    }
  }
  return !sentence.words.empty();
}

}  // namespace weft::readers
