// SPDX-License-Identifier: Apache-2.0
// Sums in the order and with the roundings of FTS5's bm25().
#include "weft/store/words/word_index.h"

#include <cmath>

#include "weft/core/error.h"

namespace weft::store {
namespace {

constexpr double kSaturation = 1.2;
constexpr double kLengthWeight = 0.75;
constexpr double kLeastIdf = 1e-6;
constexpr std::size_t kMostWords = 1024;

// A whole number of FTS5's: seven bits a byte, the highest first; nine bytes at most. Moves `bytes` behind it.
std::uint64_t varint(std::span<const std::byte>& bytes, const Database& database) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) {
    if (bytes.empty()) {
      break;
    }
    const auto byte = std::to_integer<std::uint64_t>(bytes.front());
    bytes = bytes.subspan(1);
    value = (value << 7U) | (byte & 0x7fU);
    if (byte < 0x80U) {
      return value;
    }
  }
  database.damaged("the length of a passage cannot be read");
}

double idf(std::size_t passages, std::size_t with_word) {
  const auto all = static_cast<double>(passages);
  const auto some = static_cast<double>(with_word);
  const double value = std::log((all - some + 0.5) / (some + 0.5));
  return value > 0.0 ? value : kLeastIdf;
}

}  // namespace

WordIndex::WordIndex(Store& store, const WordIndexOptions& options)
    : store_(&store), options_(options), tokenizer_(store) {
  read_lengths(store.database());
  // A table of the connection that shows FTS5's index word by word; nothing is written into the file.
  store.database().run("CREATE VIRTUAL TABLE IF NOT EXISTS temp.word_places USING fts5vocab(main, words, instance)");
}

void WordIndex::read_lengths(Database& database) {
  constexpr std::uint64_t kLongest = 1ULL << 31U;
  Statement rows = database.prepare("SELECT id, sz FROM words_docsize ORDER BY id");
  double total = 0.0;
  while (rows.step()) {
    numbers_.push_back(rows.integer(0));
    std::span<const std::byte> sizes = rows.bytes(1);
    const std::uint64_t length = varint(sizes, database) + varint(sizes, database);
    if (length > kLongest) {
      database.damaged("the length of a passage cannot be");
    }
    dampings_.push_back(static_cast<double>(length));
    total += dampings_.back();
  }
  if (database.number("SELECT count(*) FROM passages") != passages()) {
    database.damaged("its index of words has another number of passages than it has");
  }
  const double average = total / static_cast<double>(numbers_.size());
  for (double& damping : dampings_) {
    damping = kSaturation * (1.0 - kLengthWeight + (average > 0.0 ? kLengthWeight * damping / average : 0.0));
  }
}

std::shared_ptr<const WordIndex::Postings> WordIndex::read(const std::string& word) {
  auto found = std::make_shared<Postings>();
  Statement rows = store_->database().prepare("SELECT doc, col FROM temp.word_places WHERE term = ?");
  rows.bind(1, word);
  std::size_t place = 0;
  while (rows.step()) {
    const std::int64_t number = rows.integer(0);
    const bool same = !found->places.empty() && numbers_[found->places.back()] == number;
    if (!same) {
      // FTS5 gives the passages of a word in the order of their numbers.
      while (place < numbers_.size() && numbers_[place] < number) {
        ++place;
      }
      if (place == numbers_.size() || numbers_[place] != number) {
        store_->database().damaged(concat("its index of words names a passage ", number, " that it has not"));
      }
      found->places.push_back(static_cast<std::uint32_t>(place));
      found->counts.push_back(0.0F);
    }
    found->counts.back() += rows.text(1) == "title" ? static_cast<float>(options_.title_weight) : 1.0F;
  }
  return found;
}

void WordIndex::keep(const std::string& word, const std::shared_ptr<const Postings>& postings) {
  used_.push_front(word);
  kept_.insert_or_assign(word, Kept{postings, used_.begin()});
  bytes_ += postings->bytes();
  while (bytes_ > options_.most_bytes && used_.size() > 1) {
    const auto oldest = kept_.find(used_.back());
    bytes_ -= oldest->second.postings->bytes();
    kept_.erase(oldest);
    used_.pop_back();
  }
}

std::shared_ptr<const WordIndex::Postings> WordIndex::postings(const std::string& word) {
  if (const auto found = kept_.find(word); found != kept_.end()) {
    used_.splice(used_.begin(), used_, found->second.used);
    return found->second.postings;
  }
  std::shared_ptr<const Postings> found = read(word);
  keep(word, found);
  return found;
}

std::vector<Hit> WordIndex::search(std::string_view question, std::size_t count) {
  const std::vector<std::string> words = tokenizer_.words(question);
  require(words.size() <= kMostWords, "a question has at most ", kMostWords, " words, found ", words.size());
  std::vector<double> scores(numbers_.size(), 0.0);
  for (const std::string& word : words) {
    const std::shared_ptr<const Postings> list = postings(word);
    const double weight = idf(numbers_.size(), list->places.size());
    for (std::size_t i = 0; i < list->places.size(); ++i) {
      const std::uint32_t place = list->places[i];
      const auto times = static_cast<double>(list->counts[i]);
      scores[place] += weight * ((times * (kSaturation + 1.0)) / (times + dampings_[place]));
    }
  }
  std::vector<Hit> hits;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > 0.0) {
      hits.push_back({numbers_[i], scores[i]});
    }
  }
  keep_best(hits, count);
  return hits;
}

}  // namespace weft::store
