// SPDX-License-Identifier: Apache-2.0
// The text so far is read letter by letter; a token may come where its letters can be read on, and where the cheapest
// rest of the tree behind it has room.
#include "weft/generation/processors/tree_shape.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "weft/core/error.h"

namespace weft::generation {
namespace {

constexpr std::string_view kWord = "XX";
constexpr std::int64_t kNever = std::numeric_limits<std::int32_t>::max();  // tokens that no tree has

/// How many tokens write the end of a text, from each place in it; kNever where none do.
std::vector<std::int64_t> tokens_from(const std::string& text, const std::set<std::string_view>& pieces) {
  std::vector<std::int64_t> costs(text.size() + 1, kNever);
  costs.back() = 0;
  for (std::size_t at = text.size(); at-- > 0;) {
    for (std::size_t size = 1; at + size <= text.size(); ++size) {
      if (costs[at + size] < costs[at] && pieces.contains(std::string_view(text).substr(at, size))) {
        costs[at] = std::min(costs[at], 1 + costs[at + size]);
      }
    }
  }
  return costs;
}

std::int64_t words_in(const TreeShape& shape, std::span<const std::int64_t> source) {
  std::int64_t words = 0;
  bool inside = false;
  for (const std::int64_t id : source) {
    for (const char letter : shape.source.at(static_cast<std::size_t>(id))) {
      const bool blank = letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
      words += !blank && !inside ? 1 : 0;
      inside = !blank;
    }
  }
  return words;
}

/// Symbols, and what they cost from each of their letters on; a blank is before the first.
class Symbols {
 public:
  Symbols(const TreeShape& shape, const std::set<std::string_view>& pieces) : most_open_(shape.most_open) {
    require(!shape.labels.empty(), "a tree needs labels for its brackets, found none");
    word_ = tokens_from(concat(' ', kWord), pieces);
    for (const std::string& label : shape.labels) {
      opening_[label] = tokens_from(concat(" (", label), pieces);
      closing_[label] = tokens_from(concat(" )", label), pieces);
      require(std::max({word_.front(), opening_[label].front(), closing_[label].front()}) < kNever,
              "the tokens of the model cannot write a tree with brackets ", label);
    }
  }

  std::int64_t most_open() const { return most_open_; }
  const std::map<std::string, std::vector<std::int64_t>, std::less<>>& opening() const { return opening_; }
  std::int64_t word_from(std::size_t letters) const { return word_[letters]; }
  std::int64_t closing_from(std::string_view label, std::size_t letters) const {
    return closing_.find(label)->second[letters];
  }

 private:
  std::int64_t most_open_;
  std::vector<std::int64_t> word_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> opening_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> closing_;
};

/// A tree so far, and the letters of the symbol that is being written.
class TreeState {
 public:
  TreeState(const Symbols& symbols, std::int64_t words) : symbols_(&symbols), words_left_(words) {}

  /// False where no tree has this letter here.
  bool take(char letter) {
    if (letter == ' ') {
      const bool first = !started_ && letters_.empty() && !behind_blank_;
      const bool whole = !letters_.empty() && commit();
      behind_blank_ = true;
      return first || (whole && !done());
    }
    letters_ += letter;
    behind_blank_ = false;
    return least_end() < kNever;
  }

  /// Whether the text may end here.
  bool complete() const {
    TreeState after = *this;
    return !letters_.empty() && after.commit() && after.done();
  }

  /// Tokens that the cheapest rest of the tree has; kNever where the symbol can become none.
  std::int64_t least_end() const {
    const std::size_t place = letters_.empty() ? (behind_blank_ ? 1 : 0) : letters_.size() + 1;
    std::int64_t least = kNever;
    if (may_open() && (letters_.empty() || letters_.front() == '(')) {
      for (const auto& [label, costs] : symbols_->opening()) {
        if (letters_.empty() || label.starts_with(std::string_view(letters_).substr(1))) {
          least = std::min(least, costs[place] + symbols_->closing_from(label, 0) + rest());
        }
      }
    }
    if (may_close() && begins(")", open_.back())) {
      least = std::min(least,
                       symbols_->closing_from(open_.back(), place) + rest() - symbols_->closing_from(open_.back(), 0));
    }
    if (may_take_word() && begins("", kWord)) {
      least = std::min(least, symbols_->word_from(place) + rest() - symbols_->word_from(0));
    }
    return least >= kNever ? kNever : least;
  }

 private:
  bool done() const { return started_ && open_.empty(); }
  bool may_open() const { return words_left_ > 0 && opened_ < symbols_->most_open() && (!started_ || !open_.empty()); }
  bool may_close() const { return !open_.empty() && opened_ == 0 && (open_.size() > 1 || words_left_ == 0); }
  bool may_take_word() const { return !open_.empty() && words_left_ > 0; }

  /// Whether the letters are how `mark` and `name` begin.
  bool begins(std::string_view mark, std::string_view name) const {
    return letters_.size() <= mark.size() + name.size() &&
           (letters_.empty() || (letters_.starts_with(mark) && name.starts_with(letters_.substr(mark.size()))));
  }

  /// Tokens of the words and closing brackets that are missing.
  std::int64_t rest() const {
    std::int64_t sum = words_left_ * symbols_->word_from(0);
    for (const std::string& label : open_) {
      sum += symbols_->closing_from(label, 0);
    }
    return sum;
  }

  /// Takes the letters as a symbol; false where they are none that may come.
  bool commit() {
    const std::string symbol = std::exchange(letters_, {});
    if (symbol.front() == '(' && may_open() && symbols_->opening().contains(symbol.substr(1))) {
      open_.push_back(symbol.substr(1));
      started_ = true;
      ++opened_;
    } else if (symbol.front() == ')' && may_close() && open_.back() == symbol.substr(1)) {
      open_.pop_back();
    } else if (symbol == kWord && may_take_word()) {
      --words_left_;
      opened_ = 0;
    } else {
      return false;
    }
    return true;
  }

  const Symbols* symbols_;
  std::int64_t words_left_;
  std::int64_t opened_ = 0;  // brackets since the last word or closing bracket
  bool started_ = false;
  bool behind_blank_ = false;
  std::string letters_;
  std::vector<std::string> open_;
};

class TreeKeeper {
 public:
  explicit TreeKeeper(TreeShape shape) : shape_(std::move(shape)), symbols_(shape_, pieces()) {}

  void operator()(const RowScores& row) const {
    const std::vector<std::int64_t> ids = may_come(row);
    std::vector<float> kept;
    kept.reserve(ids.size());
    bool any = false;
    for (const std::int64_t id : ids) {
      kept.push_back(row.scores[static_cast<std::size_t>(id)]);
      any = any || kept.back() != kImpossible;
    }
    std::fill(row.scores.begin(), row.scores.end(), kImpossible);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      row.scores[static_cast<std::size_t>(ids[i])] = any ? kept[i] : 0.0F;
    }
  }

 private:
  // Tokens of letters that trees have, which are few; kept for each call.
  std::set<std::string_view> pieces() {
    std::set<char> letters = {' ', '(', ')', 'X'};
    for (const std::string& label : shape_.labels) {
      letters.insert(label.begin(), label.end());
    }
    std::set<std::string_view> found;
    for (std::size_t id = 0; id < shape_.target.size(); ++id) {
      const std::string& piece = shape_.target[id];
      const bool fits = std::all_of(piece.begin(), piece.end(), [&](char letter) { return letters.contains(letter); });
      if (fits && !piece.empty()) {
        found.insert(piece);
        usable_.push_back(static_cast<std::int64_t>(id));
      }
    }
    return found;
  }

  TreeState state_of(const RowScores& row) const {
    TreeState state(symbols_, words_in(shape_, row.source));
    for (const std::int64_t id : row.tokens) {
      for (const char letter : shape_.target.at(static_cast<std::size_t>(id))) {
        state.take(letter);
      }
    }
    return state;
  }

  std::vector<std::int64_t> may_come(const RowScores& row) const {
    const TreeState state = state_of(row);
    if (state.complete()) {
      // A bracket's name could go on, but a whole tree ends.
      return shape_.ends;
    }
    // Behind the token come the rest and the end.
    const std::int64_t room = row.longest - std::ssize(row.tokens) - 2;
    std::vector<std::int64_t> ids;
    for (const std::int64_t id : usable_) {
      const std::string& piece = shape_.target[static_cast<std::size_t>(id)];
      TreeState after = state;
      if (id < std::ssize(row.scores) &&
          std::all_of(
              piece.begin(), piece.end(), [&](char letter) { return after.take(letter); }) &&
          (after.complete() ? 0 : after.least_end()) <= room) {
        ids.push_back(id);
      }
    }
    require(!ids.empty(), "text ", row.item, ": no tree over its ", words_in(shape_, row.source),
            " words has room in the ", row.longest, " tokens of the longest text");
    return ids;
  }

  TreeShape shape_;
  std::vector<std::int64_t> usable_;
  Symbols symbols_;
};

}  // namespace

Processor keep_trees(TreeShape shape) {
  require(!shape.ends.empty(), "a tree needs a token that ends a text, found none");
  return [keeper = std::make_shared<const TreeKeeper>(std::move(shape))](const RowScores& row) { (*keeper)(row); };
}

}  // namespace weft::generation
