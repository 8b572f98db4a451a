// SPDX-License-Identifier: Apache-2.0
// A text as it comes into a store.
#pragma once

#include <string>

namespace weft::store {

struct CorpusText {
  std::string id;
  std::string title;
  std::string text;
  std::string where;   ///< "'corpus.jsonl' line 3", for messages
  bool whole = false;  ///< a whole file, which nobody has cut into records
};

}  // namespace weft::store
