// SPDX-License-Identifier: Apache-2.0
// What the text or its source holds already.
#include "weft/generation/processors/repetition.h"

#include <algorithm>
#include <unordered_set>

namespace weft::generation {
namespace {

using Tokens = std::span<const std::int64_t>;

/// Ids outside of the vocabulary, of another tokeniser's source, have no score.
bool has_score(const RowScores& row, std::int64_t id) { return id >= 0 && id < std::ssize(row.scores); }

void scale(const RowScores& row, Tokens ids, float factor) {
  const std::unordered_set<std::int64_t> distinct(ids.begin(), ids.end());
  for (const std::int64_t id : distinct) {
    if (has_score(row, id)) {
      float& score = row.scores[static_cast<std::size_t>(id)];
      score = score < 0.0F ? score * factor : score / factor;
    }
  }
}

/// Bans what follows the last size - 1 tokens of the text wherever they are in `seen`.
void ban_continuations(const RowScores& row, Tokens seen, std::int64_t size) {
  const auto before = static_cast<std::size_t>(size - 1);
  if (row.tokens.size() < before) {
    return;
  }
  const Tokens last = row.tokens.last(before);
  for (std::size_t begin = 0; begin + before < seen.size(); ++begin) {
    const std::int64_t next = seen[begin + before];
    if (has_score(row, next) && std::equal(last.begin(), last.end(), seen.begin() + static_cast<long>(begin))) {
      row.scores[static_cast<std::size_t>(next)] = kImpossible;
    }
  }
}

}  // namespace

Processor punish_repetition(double penalty) {
  const auto factor = static_cast<float>(penalty);
  return [factor](const RowScores& row) { scale(row, row.tokens, factor); };
}

Processor repeat_source(double penalty) {
  const auto factor = static_cast<float>(1.0 / penalty);
  return [factor](const RowScores& row) { scale(row, row.source, factor); };
}

Processor ban_repeated_ngrams(std::int64_t size) {
  return [size](const RowScores& row) { ban_continuations(row, row.tokens, size); };
}

Processor ban_source_ngrams(std::int64_t size) {
  return [size](const RowScores& row) { ban_continuations(row, row.source, size); };
}

}  // namespace weft::generation
