// SPDX-License-Identifier: Apache-2.0
// Files of bracketed trees: one a line, or over several lines as the Penn Treebank has them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "weft/readers/reader.h"
#include "weft/readers/text_source.h"
#include "weft/readers/trees/tree.h"

namespace weft::readers {

struct TreeRecord {
  Tree tree;
  std::int64_t line = 0;  ///< of its first bracket
};

/// A file (plain or gzip), one tree in memory at a time. A bracket that begins a line begins a tree; the lines of a
/// tree behind its first begin with a blank or a closing bracket, or are empty. Malformed: what parse_tree() refuses, a
/// line between trees that begins otherwise, a tree that is not closed where the next begins.
class TreeReader final : public Reader<TreeRecord> {
 public:
  explicit TreeReader(const std::filesystem::path& path, const ReadOptions& options = {});
  explicit TreeReader(ByteSource bytes, const ReadOptions& options = {});

 protected:
  bool read(TreeRecord& record) override;

 private:
  bool at_tree();
  bool goes_on();
  std::string tree_lines();

  TextSource source_;
};

}  // namespace weft::readers
