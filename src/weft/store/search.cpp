// SPDX-License-Identifier: Apache-2.0
// Each index is read when the first question needs it.
#include "weft/store/search.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/store/fusion.h"

namespace weft::store {

WordIndex& StoreSearch::words() { return words_ ? *words_ : words_.emplace(*store_, word_options_); }

VectorIndex& StoreSearch::vectors() { return vectors_ ? *vectors_ : vectors_.emplace(*store_); }

std::string StoreSearch::way(const std::string& by) {
  if (by != "auto") {
    return by;
  }
  return store_->vector_space() ? "both" : "words";
}

void StoreSearch::prepare(const std::string& by) {
  if (by != "vectors") {
    words();
  }
  if (by != "words") {
    vectors();
  }
}

std::vector<Hit> StoreSearch::search(const SearchQuestion& question) {
  if (question.by == "words") {
    return words().search(question.text, question.count);
  }
  if (question.by == "vectors") {
    return vectors().search(question.vector, question.count);
  }
  require(question.by == "both", "a search goes by words, vectors or both, found ", Quoted(question.by));
  const std::size_t depth = std::max(question.depth, question.count);
  std::vector<Hit> hits = fuse(words().search(question.text, depth), vectors().search(question.vector, depth));
  keep_best(hits, question.count);
  return hits;
}

}  // namespace weft::store
