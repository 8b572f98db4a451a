// SPDX-License-Identifier: Apache-2.0
// The text so far is read letter by letter; a token may come where its letters can be read on, and where the cheapest
// rest of the tree behind it has room.
#include "weft/generation/processors/tree_shape.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/generation/processors/words.h"

namespace weft::generation {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int32_t>::max();  // tokens that no tree has

using Pieces = std::unordered_set<std::string_view>;

/// How many tokens write the end of a text, from each place in it; kNever where none do.
std::vector<std::int64_t> tokens_from(const std::string& text, const Pieces& pieces) {
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

/// A leaf of the tree, and what it costs from each of its letters on; a blank is before the first.
struct Leaf {
  std::string text;
  std::vector<std::int64_t> costs;
};

/// The leaves of a tree, and the tokens that all from each one on have.
struct Leaves {
  std::vector<Leaf> each;
  std::vector<std::int64_t> costs;
};

std::vector<std::string> words_of(const TreeShape& shape, std::span<const std::int64_t> source) {
  std::vector<std::string> words;
  bool inside = false;
  for (const std::int64_t id : source) {
    for (const char letter : shape.source.at(static_cast<std::size_t>(id))) {
      const bool blank = letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
      if (!blank && !inside) {
        words.emplace_back();
      }
      if (!blank) {
        words.back() += letter;
      }
      inside = !blank;
    }
  }
  return words;
}

Leaves leaves_of(const TreeShape& shape, const Pieces& pieces, const RowScores& row) {
  Leaves leaves;
  for (const std::string& word : words_of(shape, row.source)) {
    const std::string text(shape.leaf(word));
    leaves.each.push_back({text, tokens_from(concat(' ', text), pieces)});
    if (leaves.each.back().costs.front() >= kNever) {
      throw PromptError(row.item, concat("the tokens of the model cannot write ", Quoted(text), " behind a blank"));
    }
  }
  leaves.costs.assign(leaves.each.size() + 1, 0);
  for (std::size_t i = leaves.each.size(); i-- > 0;) {
    leaves.costs[i] = leaves.costs[i + 1] + leaves.each[i].costs.front();
  }
  return leaves;
}

/// Brackets, and what they cost from each of their letters on; a blank is before the first.
class Brackets {
 public:
  Brackets(const TreeShape& shape, const Pieces& pieces) : most_open_(shape.most_open) {
    require(!shape.labels.empty(), "a tree needs labels for its brackets, found none");
    for (const std::string& label : shape.labels) {
      opening_[label] = tokens_from(concat(" (", label), pieces);
      closing_[label] = tokens_from(concat(" )", label), pieces);
      require(std::max(opening_[label].front(), closing_[label].front()) < kNever,
              "the tokens of the model cannot write a tree with brackets ", label);
    }
  }

  std::int64_t most_open() const { return most_open_; }
  const std::map<std::string, std::vector<std::int64_t>, std::less<>>& opening() const { return opening_; }
  std::int64_t closing_from(std::string_view label, std::size_t letters) const {
    return closing_.find(label)->second[letters];
  }

 private:
  std::int64_t most_open_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> opening_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> closing_;
};

/// A tree so far, and the letters of the symbol that is being written.
class TreeState {
 public:
  TreeState(const Brackets& brackets, const Leaves& leaves) : brackets_(&brackets), leaves_(&leaves) {}

  /// Takes the next letter of what is written; false where a symbol ends that may not come.
  bool take(char letter) {
    if (letter == ' ') {
      const bool first = !started_ && letters_.empty() && !behind_blank_;
      const bool whole = !letters_.empty() && commit();
      behind_blank_ = true;
      return first || (whole && !done());
    }
    letters_ += letter;
    behind_blank_ = false;
    return true;
  }

  /// Whether a symbol that may come begins with the letters.
  bool may_become_symbol() const {
    const auto fits = [this](const auto& opening) { return begins("(", opening.first); };
    return (may_open() && std::ranges::any_of(brackets_->opening(), fits)) ||
           (may_close() && begins(")", open_.back())) || (may_take_leaf() && begins("", leaf().text));
  }

  /// Whether the text may end here.
  bool complete() const {
    TreeState after = *this;
    return !letters_.empty() && after.commit() && after.done();
  }

  /// Tokens that the cheapest rest of the tree has; kNever where no token begins with the next letter.
  std::int64_t least_end() const {
    const std::size_t place = letters_.empty() ? (behind_blank_ ? 1 : 0) : letters_.size() + 1;
    std::int64_t least = kNever;
    for (const auto& [label, costs] : brackets_->opening()) {
      if (may_open() && begins("(", label)) {
        least = std::min(least, costs[place] + brackets_->closing_from(label, 0) + rest());
      }
    }
    if (may_close() && begins(")", open_.back())) {
      least = std::min(
          least, brackets_->closing_from(open_.back(), place) + rest() - brackets_->closing_from(open_.back(), 0));
    }
    if (may_take_leaf() && begins("", leaf().text)) {
      least = std::min(least, leaf().costs[place] + rest() - leaf().costs.front());
    }
    return least >= kNever ? kNever : least;
  }

 private:
  bool done() const { return started_ && open_.empty(); }
  bool has_leaves() const { return taken_ < leaves_->each.size(); }
  bool may_open() const { return has_leaves() && opened_ < brackets_->most_open() && (!started_ || !open_.empty()); }
  bool may_close() const { return !open_.empty() && opened_ == 0 && (open_.size() > 1 || !has_leaves()); }
  bool may_take_leaf() const { return !open_.empty() && has_leaves(); }
  const Leaf& leaf() const { return leaves_->each[taken_]; }

  /// Whether the letters are how `mark` and `name` begin.
  bool begins(std::string_view mark, std::string_view name) const {
    return letters_.size() <= mark.size() + name.size() &&
           (letters_.empty() || (letters_.starts_with(mark) && name.starts_with(letters_.substr(mark.size()))));
  }

  /// Tokens of the leaves and closing brackets that are missing.
  std::int64_t rest() const {
    std::int64_t sum = leaves_->costs[taken_];
    for (const std::string& label : open_) {
      sum += brackets_->closing_from(label, 0);
    }
    return sum;
  }

  /// Takes the letters as a symbol; false where they are none that may come.
  bool commit() {
    const std::string symbol = std::exchange(letters_, {});
    if (symbol.front() == '(' && may_open() && brackets_->opening().contains(symbol.substr(1))) {
      open_.push_back(symbol.substr(1));
      started_ = true;
      ++opened_;
    } else if (symbol.front() == ')' && may_close() && open_.back() == symbol.substr(1)) {
      open_.pop_back();
    } else if (may_take_leaf() && symbol == leaf().text) {
      ++taken_;
      opened_ = 0;
    } else {
      return false;
    }
    return true;
  }

  const Brackets* brackets_;
  const Leaves* leaves_;
  std::size_t taken_ = 0;    // leaves
  std::int64_t opened_ = 0;  // brackets since the last leaf or closing bracket
  bool started_ = false;
  bool behind_blank_ = false;
  std::string letters_;
  std::vector<std::string> open_;
};

/// A token that writes something.
struct Piece {
  std::string_view text;
  std::int64_t id;
};

std::vector<Piece> pieces_of(const std::vector<std::string>& target) {
  std::vector<Piece> pieces;
  for (std::size_t id = 0; id < target.size(); ++id) {
    if (!target[id].empty()) {
      pieces.push_back({target[id], static_cast<std::int64_t>(id)});
    }
  }
  std::ranges::sort(pieces, {}, &Piece::text);
  return pieces;
}

class TreeKeeper {
 public:
  explicit TreeKeeper(TreeShape shape)
      : shape_(std::move(shape)),
        pieces_(pieces_of(shape_.target)),
        texts_(shape_.target.begin(), shape_.target.end()),
        brackets_(shape_, texts_) {}

  void operator()(const RowScores& row) const { keep_only(row.scores, may_come(row)); }

 private:
  std::vector<std::int64_t> may_come(const RowScores& row) const {
    const Leaves leaves = leaves_of(shape_, texts_, row);
    TreeState state(brackets_, leaves);
    for (const std::int64_t id : row.tokens) {
      for (const char letter : shape_.target.at(static_cast<std::size_t>(id))) {
        state.take(letter);
      }
    }
    if (state.complete()) {
      // A bracket's name could go on, but a whole tree ends.
      return shape_.ends;
    }
    // Behind the token come the rest and the end.
    const std::int64_t room = row.longest - std::ssize(row.tokens) - 2;
    std::vector<std::int64_t> ids;
    add_fitting(pieces_, 0, state, room, ids);
    std::erase_if(ids, [&](std::int64_t id) { return id >= std::ssize(row.scores); });
    if (ids.empty()) {
      throw PromptError(row.item, concat("no tree over its ", leaves.each.size(), " words has room in the ",
                                         row.longest, " tokens of the longest text"));
    }
    return ids;
  }

  /// Adds the ids of those of `pieces`, whose first letters are equal and are in `state`, that leave a tree room.
  void add_fitting(std::span<const Piece> pieces, std::size_t letters, const TreeState& state, std::int64_t room,
                   std::vector<std::int64_t>& ids) const {
    while (!pieces.empty() && pieces.front().text.size() == letters) {
      if ((state.complete() ? 0 : state.least_end()) <= room) {
        ids.push_back(pieces.front().id);
      }
      pieces = pieces.subspan(1);
    }
    while (!pieces.empty()) {
      const char letter = pieces.front().text[letters];
      const auto end =
          std::ranges::partition_point(pieces, [&](const Piece& piece) { return piece.text[letters] == letter; });
      const auto count = static_cast<std::size_t>(end - pieces.begin());
      if (TreeState after = state; after.take(letter) && after.may_become_symbol()) {
        add_fitting(pieces.first(count), letters + 1, after, room, ids);
      }
      pieces = pieces.subspan(count);
    }
  }

  TreeShape shape_;
  std::vector<Piece> pieces_;  // in the order of their letters
  Pieces texts_;
  Brackets brackets_;
};

}  // namespace

Processor keep_trees(TreeShape shape) {
  require(!shape.ends.empty(), "a tree needs a token that ends a text, found none");
  return [keeper = std::make_shared<const TreeKeeper>(std::move(shape))](const RowScores& row) { (*keeper)(row); };
}

}  // namespace weft::generation
