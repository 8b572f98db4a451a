// SPDX-License-Identifier: Apache-2.0
// Passages by the words that they share with a question: BM25 (Robertson and Zaragoza 2009) with k1 = 1.2 and b = 0.75,
// equal to bm25() of FTS5, whose index is read. bm25() walks all passages of every word twice for each question; here
// the passages of a word are read once and kept, so that a second question with it costs an addition for each.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/store/hit.h"
#include "weft/store/store.h"
#include "weft/store/words/word_tokenizer.h"

namespace weft::store {

struct WordIndexOptions {
  double title_weight = 1.0;                 ///< a word of the title counts so often
  std::uint64_t most_bytes = 256ULL << 20U;  ///< of words that are kept; those that nobody asked for longest go first
};

class WordIndex {
 public:
  /// Reads how long each passage is: 100,000 take 30 ms. The store must not be changed, nor closed, before this is
  /// destroyed. Errors: as Store; kFormat for an index that does not fit its passages.
  explicit WordIndex(Store& store, const WordIndexOptions& options = {});

  /// The best `count` passages that have a word of `question`, best first. A word that comes twice counts twice. With N
  /// passages, n of which have the word, f times in one of l words where they have `a` on average, it adds
  /// idf f (k1 + 1) / (f + k1 (1 - b + b l / a)), idf = ln((N - n + 0.5) / (n + 0.5)), or 1e-6 where that is not
  /// positive: for words that more than half of the passages have. Errors: kArgument for more than 1,024 words;
  /// kFormat.
  std::vector<Hit> search(std::string_view question, std::size_t count);

  std::int64_t passages() const noexcept { return static_cast<std::int64_t>(numbers_.size()); }

 private:
  /// The passages of a word, by their place in numbers_, and how often each has it.
  struct Postings {
    std::vector<std::uint32_t> places;
    std::vector<float> counts;
    std::uint64_t bytes() const noexcept { return places.size() * (sizeof(std::uint32_t) + sizeof(float)); }
  };
  struct Kept {
    std::shared_ptr<const Postings> postings;
    std::list<std::string>::iterator used;
  };

  std::shared_ptr<const Postings> postings(const std::string& word);
  std::shared_ptr<const Postings> read(const std::string& word);
  void keep(const std::string& word, const std::shared_ptr<const Postings>& postings);
  void read_lengths(Database& database);

  Store* store_;
  WordIndexOptions options_;
  WordTokenizer tokenizer_;
  std::vector<std::int64_t> numbers_;  // of passages, ascending
  std::vector<double> dampings_;       // k1 (1 - b + b l / a) of each
  std::unordered_map<std::string, Kept> kept_;
  std::list<std::string> used_;  // words that are kept, the latest first
  std::uint64_t bytes_ = 0;
};

}  // namespace weft::store
