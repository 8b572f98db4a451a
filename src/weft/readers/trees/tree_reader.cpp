// SPDX-License-Identifier: Apache-2.0
// Lines are gathered while they begin as the inside of a tree does, so that a tree that is malformed costs no other.
#include "weft/readers/trees/tree_reader.h"

#include <algorithm>
#include <utility>

#include "weft/core/quote.h"

namespace weft::readers {
namespace {

bool is_blank_line(const std::string& line) { return line.find_first_not_of(" \t\r\f\v") == std::string::npos; }

}  // namespace

TreeReader::TreeReader(const std::filesystem::path& path, const ReadOptions& options)
    : TreeReader(ByteSource(path), options) {}

TreeReader::TreeReader(ByteSource bytes, const ReadOptions& options)
    : Reader(options), source_(std::move(bytes), options) {}

bool TreeReader::at_tree() {
  const int next = source_.peek();
  return next == '(' || next == TextSource::kEnd;
}

bool TreeReader::goes_on() {
  const int next = source_.peek();
  return next == ' ' || next == '\t' || next == '\n' || next == '\r' || next == ')';
}

std::string TreeReader::tree_lines() {
  std::string text;
  std::string line;
  do {
    source_.next_line(line);
    text += concat(text.empty() ? "" : "\n", line);
  } while (goes_on());
  return text;
}

bool TreeReader::read(TreeRecord& record) {
  record = {};
  std::string line;
  while (!at_tree()) {
    source_.begin_record();
    source_.next_line(line);
    if (!is_blank_line(line)) {
      malformed(source_.where(), ": a tree begins with '(' in the first column, found ", quote(line, 40));
    }
  }
  if (source_.peek() == TextSource::kEnd) {
    return false;
  }
  source_.begin_record();
  record.line = source_.next_line_number();
  const std::string text = tree_lines();
  check_utf8(text, source_.where(record.line));
  record.tree = parse_tree(text, source_.where(record.line));
  return true;
}

}  // namespace weft::readers
