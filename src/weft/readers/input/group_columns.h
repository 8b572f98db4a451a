// SPDX-License-Identifier: Apache-2.0
// The names that data sets for sentence-transformers have for texts that belong together, most usual first.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace weft::readers {

inline constexpr std::array<std::string_view, 8> kQueryFields = {"anchor",     "query",   "question", "sentence1",
                                                                 "sentence_A", "premise", "text1",    "sentence"};
/// Of a text that answers the query.
inline constexpr std::array<std::string_view, 13> kPositiveFields = {
    "positive", "positives", "pos",        "answer",     "passage", "document", "sentence2",
    "text",     "response",  "sentence_B", "hypothesis", "text2",   "docs"};
/// Of texts that do not; * stands for the rest of a name.
inline constexpr std::array<std::string_view, 4> kNegativeFields = {"negative", "negatives", "neg", "negative_*"};
inline constexpr std::array<std::string_view, 6> kScoreFields = {
    "score", "similarity_score", "relevance_score", "relevance", "label", "labels"};

/// Those that a file has where no flag names others; empty where there is none.
struct GroupColumns {
  std::string query;
  std::string text;
  std::vector<std::string> negatives;
  std::string score;
};
GroupColumns usual_group_columns(const std::vector<std::string>& columns);

}  // namespace weft::readers
