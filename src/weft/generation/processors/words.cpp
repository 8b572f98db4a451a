// SPDX-License-Identifier: Apache-2.0
// Words that are biased, banned or the only ones allowed.
#include "weft/generation/processors/words.h"

#include <algorithm>

#include "weft/core/error.h"

namespace weft::generation {
namespace {

void ban(std::span<float> scores, const std::vector<std::int64_t>& ids) {
  for (const std::int64_t id : ids) {
    if (id >= 0 && id < std::ssize(scores)) {
      scores[static_cast<std::size_t>(id)] = kImpossible;
    }
  }
}

/// Whether the tokens of `word` before its last one end the text.
bool may_be_completed(const std::vector<std::int64_t>& word, std::span<const std::int64_t> tokens) {
  const std::size_t before = word.size() - 1;
  return before <= tokens.size() && std::equal(word.begin(), word.end() - 1, tokens.end() - static_cast<long>(before));
}

}  // namespace

Processor bias_words(std::vector<BiasedWord> words) {
  return [words = std::move(words)](const RowScores& row) {
    for (const BiasedWord& word : words) {
      if (may_be_completed(word.ids, row.tokens)) {
        row.scores[static_cast<std::size_t>(word.ids.back())] += static_cast<float>(word.bias);
      }
    }
  };
}

Processor ban_tokens(std::vector<std::int64_t> ids) {
  return [ids = std::move(ids)](const RowScores& row) { ban(row.scores, ids); };
}

Processor ban_tokens_at(std::int64_t length, std::vector<std::int64_t> ids) {
  return [length, ids = std::move(ids)](const RowScores& row) {
    if (std::ssize(row.tokens) == length) {
      ban(row.scores, ids);
    }
  };
}

void keep_only(std::span<float> scores, std::span<const std::int64_t> ids) {
  std::vector<float> kept;
  kept.reserve(ids.size());
  bool any = false;
  for (const std::int64_t id : ids) {
    kept.push_back(scores[static_cast<std::size_t>(id)]);
    any = any || kept.back() != kImpossible;
  }
  std::fill(scores.begin(), scores.end(), kImpossible);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    scores[static_cast<std::size_t>(ids[i])] = any ? kept[i] : 0.0F;
  }
}

// `transformers` makes the scores 0 only where no beam of the text has an allowed token left; here each beam is by
// itself, and such a beam goes on as the others do.
Processor allow_only(AllowedTokens allowed) {
  return [allowed = std::move(allowed)](const RowScores& row) {
    const std::vector<std::int64_t> ids = allowed(row.item, row.tokens);
    if (ids.empty()) {
      throw PromptError(row.item, concat("no token is allowed behind its ", row.tokens.size(), " tokens"));
    }
    for (const std::int64_t id : ids) {
      require(id >= 0 && id < std::ssize(row.scores), "text ", row.item, ": token ", id,
              " is allowed, but the model has ", row.scores.size(), " tokens");
    }
    keep_only(row.scores, ids);
  };
}

}  // namespace weft::generation
