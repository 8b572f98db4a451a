// SPDX-License-Identifier: Apache-2.0
// BPE-dropout as the tokenizers crate has it: a queue of possible merges; one that is left out waits until another
// merge has been made, and the word is done when all that are left are left out.
#include "weft/text/sampling/merges.h"

#include <queue>
#include <string>
#include <tuple>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::text {
namespace {

using formats::Json;

std::uint64_t pair_key(std::int64_t left, std::int64_t right) {
  return (static_cast<std::uint64_t>(left) << 32) | static_cast<std::uint64_t>(right);
}

void require_plain(const Json& model) {
  for (const char* field : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const Json mark = model.value(field, Json());
    if (mark.is_string() && !mark.get_ref<const std::string&>().empty()) {
      fail(ErrorKind::kUnsupported, "bpe_dropout: the tokeniser marks parts of words (", field,
           "), which is not sampled");
    }
  }
}

// "a b", or ["a", "b"].
std::pair<std::string, std::string> sides(const Json& merge) {
  if (merge.is_array()) {
    return {merge.at(0).get<std::string>(), merge.at(1).get<std::string>()};
  }
  const auto& text = merge.get_ref<const std::string&>();
  const std::size_t blank = text.find(' ');
  return {text.substr(0, blank), text.substr(blank + 1)};
}

std::int64_t id_of(const Json& vocabulary, const std::string& token) {
  const auto found = vocabulary.find(token);
  if (found == vocabulary.end()) {
    fail(ErrorKind::kFormat, "bpe_dropout: a merge has ", quote(token), ", which is not in the vocabulary");
  }
  return found->get<std::int64_t>();
}

}  // namespace

Merges::Merges(const Json& model) {
  require_plain(model);
  const Json& vocabulary = model.at("vocab");
  std::int64_t rank = 0;
  for (const Json& merge : model.at("merges")) {
    const auto [left, right] = sides(merge);
    if (left.empty() || right.empty()) {
      fail(ErrorKind::kFormat, "bpe_dropout: merge ", rank, " of the tokeniser has an empty side");
    }
    const std::pair<std::int64_t, std::int64_t> pair{id_of(vocabulary, left), id_of(vocabulary, right)};
    const std::int64_t result = id_of(vocabulary, left + right);
    by_pair_.try_emplace(pair_key(pair.first, pair.second), Merge{rank++, result});
    parts_.try_emplace(result, pair);
  }
}

const Merges::Merge* Merges::find(std::int64_t left, std::int64_t right) const {
  const auto found = by_pair_.find(pair_key(left, right));
  return found == by_pair_.end() ? nullptr : &found->second;
}

void Merges::split(std::int64_t id, std::vector<std::int64_t>& symbols) const {
  // Deep only where a token is long: a merge's parts are shorter than what it makes.
  std::vector<std::int64_t> open = {id};
  while (!open.empty()) {
    const std::int64_t next = open.back();
    open.pop_back();
    const auto parts = parts_.find(next);
    if (parts == parts_.end()) {
      symbols.push_back(next);
    } else {
      open.push_back(parts->second.second);
      open.push_back(parts->second.first);
    }
  }
}

// A word on its way: its symbols as a linked list, and the merges that are possible.
class MergingWord {
 public:
  MergingWord(const Merges& merges, std::span<const std::int64_t> symbols) : merges_(merges) {
    const auto count = static_cast<std::int64_t>(symbols.size());
    for (std::int64_t i = 0; i < count; ++i) {
      symbols_.push_back({{symbols[static_cast<std::size_t>(i)], 1}, i - 1, i + 1 < count ? i + 1 : kNone});
    }
    for (std::int64_t i = 0; i + 1 < count; ++i) {
      offer(i);
    }
  }

  void run(double dropout, Draws& draws) {
    std::vector<Candidate> left_out;
    while (!queue_.empty()) {
      const Candidate next = queue_.top();
      queue_.pop();
      if (!stands(next)) {
        continue;
      }
      if (draws.next() < dropout) {
        left_out.push_back(next);
        continue;
      }
      apply(next);
      for (const Candidate& waiting : left_out) {
        queue_.push(waiting);
      }
      left_out.clear();
    }
  }

  std::vector<SizedToken> tokens() const {
    std::vector<SizedToken> result;
    for (std::int64_t i = symbols_.empty() ? kNone : 0; i != kNone; i = at(i).next) {
      result.push_back(at(i).token);
    }
    return result;
  }

 private:
  static constexpr std::int64_t kNone = -1;
  struct Symbol {
    SizedToken token;
    std::int64_t previous;
    std::int64_t next;
  };
  struct Candidate {
    std::int64_t rank;
    std::int64_t place;  // of the left symbol
    std::int64_t left;
    std::int64_t right;
    std::int64_t result;
    // The queue's top is the earliest merge, and of equal ones the leftmost.
    bool operator<(const Candidate& other) const { return std::tie(rank, place) > std::tie(other.rank, other.place); }
  };

  const Symbol& at(std::int64_t place) const { return symbols_[static_cast<std::size_t>(place)]; }
  Symbol& at(std::int64_t place) { return symbols_[static_cast<std::size_t>(place)]; }

  void offer(std::int64_t place) {
    const std::int64_t right = at(at(place).next).token.id;
    if (const Merges::Merge* merge = merges_.find(at(place).token.id, right)) {
      queue_.push({merge->rank, place, at(place).token.id, right, merge->result});
    }
  }

  // A symbol that was merged into its left neighbour has the id kNone.
  bool stands(const Candidate& candidate) const {
    const Symbol& left = at(candidate.place);
    return left.token.id == candidate.left && left.next != kNone && at(left.next).token.id == candidate.right;
  }

  void apply(const Candidate& candidate) {
    Symbol& left = at(candidate.place);
    Symbol& right = at(left.next);
    left.token = {candidate.result, left.token.symbols + right.token.symbols};
    left.next = right.next;
    right.token.id = kNone;
    if (left.next != kNone) {
      at(left.next).previous = candidate.place;
      offer(candidate.place);
    }
    if (left.previous != kNone) {
      offer(left.previous);
    }
  }

  const Merges& merges_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Candidate> queue_;
};

std::vector<SizedToken> Merges::merge(std::span<const std::int64_t> symbols, double dropout, Draws& draws) const {
  MergingWord word(*this, symbols);
  word.run(dropout, draws);
  return word.tokens();
}

}  // namespace weft::text
