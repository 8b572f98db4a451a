// SPDX-License-Identifier: Apache-2.0
// A search of a store: by words, by vectors, or by both.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/store/hit.h"
#include "weft/store/store.h"
#include "weft/store/vectors/vector_index.h"
#include "weft/store/words/word_index.h"

namespace weft::store {

/// What passages are found by; auto is both where the store has vectors, else words.
inline constexpr std::array<std::string_view, 4> kSearchWays = {"auto", "words", "vectors", "both"};

/// What is asked.
struct SearchQuestion {
  std::string text = {};
  std::span<const float> vector = {};  ///< of the store's space; not needed for words
  std::string by = "words";            ///< words, vectors or both
  std::size_t count = 10;              ///< passages that are wanted
  std::size_t depth = 100;             ///< of both: how many of each ranking are joined, at least `count`
};

/// Keeps what it has read for the next question. The store must not be changed, nor closed, before this is destroyed.
class StoreSearch {
 public:
  explicit StoreSearch(Store& store, const WordIndexOptions& words = {}) : store_(&store), word_options_(words) {}

  /// What "auto" is.
  std::string way(const std::string& by);
  /// Passages, best first. Scores are those of BM25, products of vectors, or sums of fuse(). Errors: as WordIndex and
  /// VectorIndex.
  std::vector<Hit> search(const SearchQuestion& question);
  /// Reads what a search by `by` needs, so that the first question does not wait for it.
  void prepare(const std::string& by);

  Store& store() noexcept { return *store_; }

 private:
  WordIndex& words();
  VectorIndex& vectors();

  Store* store_;
  WordIndexOptions word_options_;
  std::optional<WordIndex> words_;
  std::optional<VectorIndex> vectors_;
};

}  // namespace weft::store
