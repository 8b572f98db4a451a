// SPDX-License-Identifier: Apache-2.0
// Union, intersection and complement: nodes over other nodes on the same grid.
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "weft/core/error.h"
#include "weft/pattern/build.h"

namespace weft::pattern {
namespace {

/// Least common multiple of the children's periods; 0 where one has none or the result is of no use.
std::int64_t common_period(const Context& context, std::span<const NodePtr> nodes) {
  constexpr std::int64_t kUseful = std::int64_t{1} << 31;
  std::int64_t period = 1;
  for (const NodePtr& node : nodes) {
    const std::int64_t other = node->period(context);
    if (other == 0 || other > kUseful) {
      return 0;
    }
    period = std::lcm(period, other);
    if (period > kUseful) {
      return 0;
    }
  }
  return period;
}

/// Of multiplicities, which a plan may repeat up to 2^20 times.
int saturating_sum(int a, int b) {
  return a > std::numeric_limits<int>::max() - b ? std::numeric_limits<int>::max() : a + b;
}

/// The kind that wins among the nodes that have the edge.
EdgeKind strongest_kind(const Context& context, std::span<const NodePtr> nodes, std::int64_t query, std::int64_t key) {
  EdgeKind kind = EdgeKind::kNone;
  for (const NodePtr& node : nodes) {
    if (node->multiplicity(context, query, key) > 0) {
      kind = std::min(kind, node->edge_kind(context, query, key));
    }
  }
  return kind;
}

/// What unions and intersections share.
class Terms : public Node {
 public:
  explicit Terms(std::vector<NodePtr> terms) : terms_(std::move(terms)) { weighted_ = is_counted(*this); }
  std::span<const NodePtr> children() const override { return terms_; }
  std::int64_t period(const Context& context) const override { return common_period(context, terms_); }
  void signature(const Context& context, const Range& query, const Range& key, Signature& numbers) const override {
    for (const NodePtr& term : terms_) {
      term->signature(context, query, key, numbers);
    }
  }
  EdgeKind edge_kind(const Context& context, std::int64_t query, std::int64_t key) const override {
    return strongest_kind(context, terms_, query, key);
  }

 protected:
  void print_joined(Printer& printer, std::string_view separator) const {
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      printer.text(i == 0 ? "" : separator).node(*terms_[i], precedence());
    }
  }

  struct Keys {
    std::int64_t first;
    int count;
  };

  /// rows_bits of all terms, joined word by word.
  template <typename Join>
  void join_rows(const Context& context, const Range& query, const Keys& keys, std::span<std::uint64_t> bits,
                 const Join& join) const {
    terms_.front()->rows_bits(context, query, keys.first, keys.count, bits);
    std::vector<std::uint64_t> others(bits.size());
    for (std::size_t term = 1; term < terms_.size(); ++term) {
      terms_[term]->rows_bits(context, query, keys.first, keys.count, others);
      std::transform(bits.begin(), bits.end(), others.begin(), bits.begin(), join);
    }
  }

  std::vector<NodePtr> terms_;
  bool weighted_ = false;  ///< some multiplicity below may exceed 1
};

class Union final : public Terms {
 public:
  using Terms::Terms;

  int multiplicity(const Context& context, std::int64_t query, std::int64_t key) const override {
    int largest = 0;
    int sum = 0;
    for (const NodePtr& term : terms_) {
      const int value = term->multiplicity(context, query, key);
      if (weighted_ && term->additive(context)) {
        sum = saturating_sum(sum, value);
      } else {
        largest = std::max(largest, value);
      }
    }
    return saturating_sum(largest, sum);
  }

  int uniform(const Context& context, const Range& query, const Range& key) const override {
    return weighted_ ? weighted_uniform(context, query, key) : plain_uniform(context, query, key);
  }

  std::uint64_t row_bits(const Context& context, std::int64_t query, std::int64_t first, int count) const override {
    const std::uint64_t all = low_bits(count);
    std::uint64_t bits = 0;
    for (const NodePtr& term : terms_) {
      bits |= term->row_bits(context, query, first, count);
      if (bits == all) {
        break;
      }
    }
    return bits;
  }

  void rows_bits(const Context& context, const Range& query, std::int64_t first, int count,
                 std::span<std::uint64_t> bits) const override {
    join_rows(context, query, {first, count}, bits, std::bit_or<>());
  }

  std::int64_t first_key(const Context& context, const Range& query, const Range& key) const override {
    std::int64_t first = key.end;
    for (auto term = terms_.begin(); term != terms_.end() && first > key.begin; ++term) {
      first = std::min(first, (*term)->first_key(context, query, key));
    }
    return first;
  }

  NodeKind kind() const override { return NodeKind::kUnion; }
  Precedence precedence() const override { return Precedence::kUnion; }
  void print(Printer& printer) const override { print_joined(printer, " | "); }

 private:
  /// Without plans one full term is enough, and one mixed term makes the rest mixed.
  int plain_uniform(const Context& context, const Range& query, const Range& key) const {
    int result = 0;
    for (const NodePtr& term : terms_) {
      const int value = term->uniform(context, query, key);
      if (value > 0) {
        return value;
      }
      result = std::min(result, value);  // kMixed is below 0
    }
    return result;
  }

  /// Plans add to what the others have, so that every term must be even.
  int weighted_uniform(const Context& context, const Range& query, const Range& key) const {
    int largest = 0;
    int sum = 0;
    for (const NodePtr& term : terms_) {
      const int value = term->uniform(context, query, key);
      if (value == kMixed) {
        return kMixed;
      }
      if (term->additive(context)) {
        sum = saturating_sum(sum, value);
      } else {
        largest = std::max(largest, value);
      }
    }
    return saturating_sum(largest, sum);
  }
};

class Intersection final : public Terms {
 public:
  using Terms::Terms;

  int multiplicity(const Context& context, std::int64_t query, std::int64_t key) const override {
    int largest = 0;
    for (const NodePtr& term : terms_) {
      const int value = term->multiplicity(context, query, key);
      if (value == 0) {
        return 0;
      }
      largest = std::max(largest, value);
    }
    return largest;
  }

  int uniform(const Context& context, const Range& query, const Range& key) const override {
    int largest = 0;
    bool mixed = false;
    for (const NodePtr& term : terms_) {
      const int value = term->uniform(context, query, key);
      if (value == 0) {
        return 0;
      }
      mixed = mixed || value == kMixed;
      largest = std::max(largest, value);
    }
    return mixed ? kMixed : largest;
  }

  std::uint64_t row_bits(const Context& context, std::int64_t query, std::int64_t first, int count) const override {
    std::uint64_t bits = low_bits(count);
    for (const NodePtr& term : terms_) {
      bits &= term->row_bits(context, query, first, count);
      if (bits == 0) {
        break;
      }
    }
    return bits;
  }

  void rows_bits(const Context& context, const Range& query, std::int64_t first, int count,
                 std::span<std::uint64_t> bits) const override {
    join_rows(context, query, {first, count}, bits, std::bit_and<>());
  }

  std::int64_t first_key(const Context& context, const Range& query, const Range& key) const override {
    std::int64_t first = key.begin;
    for (const NodePtr& term : terms_) {
      first = std::max(first, term->first_key(context, query, key));
    }
    return first;
  }

  NodeKind kind() const override { return NodeKind::kIntersection; }
  Precedence precedence() const override { return Precedence::kIntersection; }
  void print(Printer& printer) const override { print_joined(printer, " & "); }
};

/// Edges become none and none an edge, whatever the multiplicity was.
class Complement final : public Node {
 public:
  explicit Complement(NodePtr pattern) : pattern_(std::move(pattern)) {}

  int multiplicity(const Context& context, std::int64_t query, std::int64_t key) const override {
    return pattern_->multiplicity(context, query, key) == 0 ? 1 : 0;
  }
  int uniform(const Context& context, const Range& query, const Range& key) const override {
    const int value = pattern_->uniform(context, query, key);
    return value == kMixed ? kMixed : (value == 0 ? 1 : 0);
  }
  std::uint64_t row_bits(const Context& context, std::int64_t query, std::int64_t first, int count) const override {
    return ~pattern_->row_bits(context, query, first, count) & low_bits(count);
  }
  void signature(const Context& context, const Range& query, const Range& key, Signature& numbers) const override {
    pattern_->signature(context, query, key, numbers);
  }
  EdgeKind edge_kind(const Context&, std::int64_t, std::int64_t) const override { return EdgeKind::kOther; }
  std::int64_t period(const Context& context) const override { return pattern_->period(context); }
  std::span<const NodePtr> children() const override { return {&pattern_, 1}; }
  void rows_bits(const Context& context, const Range& query, std::int64_t first, int count,
                 std::span<std::uint64_t> bits) const override {
    pattern_->rows_bits(context, query, first, count, bits);
    for (std::uint64_t& word : bits) {
      word = ~word & low_bits(count);
    }
  }
  NodeKind kind() const override { return NodeKind::kComplement; }
  Precedence precedence() const override { return Precedence::kUnary; }
  void print(Printer& printer) const override { printer.text("!").node(*pattern_, Precedence::kUnary); }

 private:
  NodePtr pattern_;
};

/// Nested unions (or intersections) become terms of the outer one: the operators are associative.
template <typename Operator>
NodePtr combine(NodeKind kind, std::vector<NodePtr> terms) {
  require(!terms.empty(), "pattern: a union or intersection needs a term");
  std::vector<NodePtr> flat;
  for (NodePtr& term : terms) {
    if (term->kind() == kind) {
      flat.insert(flat.end(), term->children().begin(), term->children().end());
    } else {
      flat.push_back(std::move(term));
    }
  }
  return flat.size() == 1 ? flat.front() : make_node<Operator>(std::move(flat));
}

}  // namespace

NodePtr any_of(std::vector<NodePtr> terms) { return combine<Union>(NodeKind::kUnion, std::move(terms)); }
NodePtr all_of(std::vector<NodePtr> terms) { return combine<Intersection>(NodeKind::kIntersection, std::move(terms)); }
NodePtr complement(NodePtr pattern) { return make_node<Complement>(std::move(pattern)); }
}  // namespace weft::pattern
