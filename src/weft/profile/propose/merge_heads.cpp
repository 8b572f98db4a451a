// SPDX-License-Identifier: Apache-2.0
// Groups of heads with equal terms, united pair by pair.
#include "weft/profile/propose/merge_heads.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>

namespace weft::profile {
namespace {

constexpr double kEqualPrice = 1.01;  // a difference that no clock shows
constexpr std::int64_t kTileKeys = 64;

// Terms that hold what both hold; nothing where no stride holds both strides.
std::optional<HeadTerms> united(const HeadTerms& a, const HeadTerms& b) {
  HeadTerms both{.left = std::max(a.left, b.left), .right = std::max(a.right, b.right), .rows = a.rows || b.rows};
  std::set_union(a.keys.begin(), a.keys.end(), b.keys.begin(), b.keys.end(), std::back_inserter(both.keys));
  const auto [low, high] = std::minmax(a.stride, b.stride);
  if (low > 0 && high % low != 0) {
    return std::nullopt;
  }
  both.stride = low > 0 ? low : high;
  return both;
}

class Merger {
 public:
  Merger(std::vector<HeadProposal>& heads, const LayerBase& base) : heads_(heads), base_(base) {
    for (HeadProposal& head : heads_) {
      snap(head);
      least_ += head.cost;
    }
  }

  void run(double slack) {
    double spent = 0;
    while (true) {
      const Choice choice = cheapest();
      if (!choice.is_there || spent + choice.added > slack * least_) {
        break;
      }
      spent += choice.added;
      for (std::size_t head = 0; head < heads_.size(); ++head) {
        if (heads_[head].expression == choice.one || heads_[head].expression == choice.other) {
          become(head, choice.both);
        }
      }
    }
    std::for_each(heads_.begin(), heads_.end(), [this](HeadProposal& head) { snap(head); });
  }

 private:
  struct Choice {
    bool is_there = false;
    double added = 0;
    double rank = std::numeric_limits<double>::infinity();
    std::string one;
    std::string other;
    HeadProposal both;
  };

  std::int64_t keys() const { return base_.part().sums.keys(); }

  // The widest terms of equal price. They do not leave what the head had where the narrow ones did not.
  void snap(HeadProposal& head) {
    if (head.is_whole()) {
      return;
    }
    const auto number = &head - heads_.data();
    const auto widen = [&](const HeadTerms& terms) {
      const std::string expression = expression_of(terms, keys());
      const double price = base_.head_cost(number, expression);
      if (expression != head.expression && price <= kEqualPrice * head.cost &&
          base_.contains(number, expression) == base_.contains(number, head.expression)) {
        head = {expression, kept_share(base_.part().sums, number, terms), price, terms};
      }
    };
    HeadTerms filled = *head.terms;
    std::int64_t end = 0;  // of the columns in the first tile
    for (const std::int64_t key : filled.keys) {
      end = key < kTileKeys ? key + 1 : end;
    }
    for (std::int64_t key = 0; key < end; ++key) {
      filled.keys.push_back(key);
    }
    std::sort(filled.keys.begin(), filled.keys.end());
    filled.keys.erase(std::unique(filled.keys.begin(), filled.keys.end()), filled.keys.end());
    widen(filled);
    if (HeadTerms even = *head.terms; even.right > 0) {
      even.left = even.right = std::max(even.left, even.right);
      widen(even);
    }
  }

  void become(std::size_t head, const HeadProposal& wanted) {
    const auto number = static_cast<std::int64_t>(head);
    const double kept = wanted.is_whole() ? 1 : kept_share(base_.part().sums, number, *wanted.terms);
    heads_[head] = {wanted.expression, kept, base_.head_cost(number, wanted.expression), wanted.terms};
  }

  std::vector<std::size_t> distinct() const {
    std::vector<std::size_t> first;
    for (std::size_t head = 0; head < heads_.size(); ++head) {
      const bool is_new = std::none_of(first.begin(), first.end(), [&](std::size_t other) {
        return heads_[other].expression == heads_[head].expression;
      });
      if (is_new) {
        first.push_back(head);
      }
    }
    return first;
  }

  // Places where the expression changes from one head to the next, `other` counted as `one`.
  int changes(const std::string& one, const std::string& other) const {
    const auto name = [&](std::size_t head) -> const std::string& {
      return heads_[head].expression == other ? one : heads_[head].expression;
    };
    int count = 0;
    for (std::size_t head = 1; head < heads_.size(); ++head) {
      count += name(head) != name(head - 1) ? 1 : 0;
    }
    return count;
  }

  HeadProposal union_of(const HeadProposal& one, const HeadProposal& other) const {
    const std::optional<HeadTerms> both =
        one.is_whole() || other.is_whole() ? std::nullopt : united(*one.terms, *other.terms);
    return both ? HeadProposal{expression_of(*both, keys()), 0, 0, both} : HeadProposal{kWholeHead, 1, 0, std::nullopt};
  }

  Choice cheapest() const {
    Choice best;
    const std::vector<std::size_t> groups = distinct();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      for (std::size_t j = i + 1; j < groups.size(); ++j) {
        const HeadProposal& one = heads_[groups[i]];
        const HeadProposal& other = heads_[groups[j]];
        const HeadProposal both = union_of(one, other);
        double added = 0;
        for (std::size_t head = 0; head < heads_.size(); ++head) {
          if (heads_[head].expression == one.expression || heads_[head].expression == other.expression) {
            added += base_.head_cost(static_cast<std::int64_t>(head), both.expression) - heads_[head].cost;
          }
        }
        constexpr double kNoRun = 0.25;  // fewer patterns, but as many runs of heads
        const int saved = changes("", "") - changes(one.expression, other.expression);
        const double rank = std::max(added, 1e-12 * least_) / std::max(kNoRun, static_cast<double>(saved));
        if (rank < best.rank) {
          best = {true, added, rank, one.expression, other.expression, both};
        }
      }
    }
    return best;
  }

  std::vector<HeadProposal>& heads_;
  const LayerBase& base_;
  double least_ = 0;
};

}  // namespace

void merge_heads(std::vector<HeadProposal>& heads, const LayerBase& base, double slack) {
  Merger(heads, base).run(slack);
}

}  // namespace weft::profile
