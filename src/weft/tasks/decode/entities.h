// SPDX-License-Identifier: Apache-2.0
// From the scores of single tokens to entities: the aggregation strategies of the token-classification pipeline of
// `transformers`, and one answer where windows overlap.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/text/encoding.h"

namespace weft::tasks {

/// kNone: every token by itself. kSimple: neighbours with one label are joined (a "B-" begins anew). The others first
/// give all tokens of a word the label of its first token, of the mean of its scores, or of its surest token.
enum class Aggregation { kNone, kSimple, kFirst, kAverage, kMax };

/// "none", "simple", "first", "average" or "max". Errors: kArgument for another name.
Aggregation parse_aggregation(std::string_view name);

/// One token of the text (special ones are left out) with its probability for each label.
struct TaggedToken {
  std::string token;  ///< as the vocabulary writes it; the text itself where that is unknown
  std::vector<double> scores;
  text::Span offsets;       ///< in code points
  text::Span byte_offsets;  ///< in bytes
  std::int64_t index = 0;   ///< in its window, special tokens counted
  bool continues_word = false;
};

/// A token, or what was joined; `label` without "B-" or "I-" once joined.
struct Entity {
  std::string label;
  double score = 0;
  std::string word;
  text::Span offsets;
  text::Span byte_offsets;
  std::int64_t index = -1;  ///< of a token by itself
};

/// How tokens become text: HuggingFaceTokenizer::join.
using JoinTokens = std::function<std::string(const std::vector<std::string>&)>;

/// The entities of one window, in the order of the text. `labels` are the names of the scores. Errors: kArgument for a
/// token with another number of scores than labels.
std::vector<Entity> aggregate(std::span<const TaggedToken> tokens, std::span<const std::string> labels,
                              Aggregation aggregation, const JoinTokens& join);

/// The entities but those whose label is one of these, compared as a whole.
std::vector<Entity> without_labels(std::vector<Entity> entities, std::span<const std::string> ignored);

/// Of entities that overlap because their windows do, the longest, and of those as long the surest.
std::vector<Entity> without_overlaps(std::vector<Entity> entities);

}  // namespace weft::tasks
