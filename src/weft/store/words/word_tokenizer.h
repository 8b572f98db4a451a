// SPDX-License-Identifier: Apache-2.0
// The words that FTS5 makes of a text: a question is cut as the passages were.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/store/store.h"

namespace weft::store {

class WordTokenizer {
 public:
  /// The tokenizer of `store`'s index, which must not be closed before this is destroyed. Errors: kUnsupported where
  /// SQLite was built without FTS5.
  explicit WordTokenizer(Store& store);
  ~WordTokenizer();
  WordTokenizer(const WordTokenizer&) = delete;
  WordTokenizer& operator=(const WordTokenizer&) = delete;

  /// The words of a text in their order, as often as they come.
  std::vector<std::string> words(std::string_view text) const;

 private:
  fts5_tokenizer functions_ = {};
  Fts5Tokenizer* tokenizer_ = nullptr;
};

}  // namespace weft::store
