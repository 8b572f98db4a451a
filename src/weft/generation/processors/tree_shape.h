// SPDX-License-Identifier: Apache-2.0
// A text that can only be a tree in one line, "(S (NP looms )NP )S": brackets that fit, over the words of the source or
// as many XX. Whatever the tokens are: they are looked at as the letters that they write.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weft/generation/processors/processor.h"

namespace weft::generation {

/// What the tokens of an encoder-decoder write, and which brackets there are.
struct TreeShape {
  std::vector<std::string> source;  ///< of each id of a source, the text behind other text; nothing for special tokens
  std::vector<std::string> target;  ///< the same of the ids that are written
  std::set<std::string> labels;     ///< of brackets
  std::function<std::string_view(std::string_view word)> leaf;  ///< what the tree has for a word of the source
  std::vector<std::int64_t> ends;                               ///< ids that end a text
  std::int64_t most_open = 4;  ///< brackets that open one behind the other, without a word between them
};

/// Tokens that cannot go on to such a tree within RowScores::longest never come: a tree has one outermost bracket, no
/// bracket without a word, labels of `labels` alone, and closes within the tokens that are left. Scores of all
/// tokens that may come being minus infinity, they become 0, as with allow_only(). Errors: kArgument where `shape` has
/// no label, or tokens cannot write one; in a call, where they cannot write a word, or the longest text has no room for
/// any tree, naming the text.
Processor keep_trees(TreeShape shape);

}  // namespace weft::generation
