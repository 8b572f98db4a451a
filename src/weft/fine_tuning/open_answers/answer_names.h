// SPDX-License-Identifier: Apache-2.0
// Where a text has one of the names of an answer, word for word as TriviaQA's program compares them (Joshi et al.
// 2017): in small letters, without punctuation, and without "a", "an" and "the".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/text/encoding.h"

namespace weft::fine_tuning {

class AnswerNames {
 public:
  /// Names without a word are never found.
  explicit AnswerNames(std::span<const std::string> names);

  /// The bytes of every place, in the order of their beginnings; places may lie in each other.
  std::vector<text::Span> places(std::string_view text) const;

 private:
  std::unordered_map<std::string, std::vector<std::vector<std::string>>> by_first_word_;
};

}  // namespace weft::fine_tuning
