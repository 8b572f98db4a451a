// SPDX-License-Identifier: Apache-2.0
// The words of a text without their case: what a model reads that restores case and punctuation, and what it can write.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::text {

/// A word at bytes [begin, end) of a text, by Unicode's mappings.
struct BareWord {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string lower;
  std::string title;  ///< the first letter a capital, the others small
  std::string upper;
};

/// Letters and digits of any script, with a single ' ’ . & or - between two of them. A byte that is no UTF-8 is in no
/// word.
std::vector<BareWord> bare_words(std::string_view text);

}  // namespace weft::text
