// SPDX-License-Identifier: Apache-2.0
// block(b, P): P on the grid of blocks of b positions; and heads(...): which pattern each head has. Both hand the
// question on to a pattern below, with another context or none.
#include "weft/core/error.h"
#include "weft/pattern/language/names.h"

namespace weft::pattern {
namespace {

/// Questions in cells become questions in blocks: a range of cells touches a range of blocks.
class Block final : public Node {
 public:
  Block(const Size& size, NodePtr pattern)
      : size_(size), pattern_(std::move(pattern)), cells_(size), inner_(&*pattern_) {
    // block(a, block(b, P)) is block(a b, P): however deep blocks nest, a question is passed on once.
    const auto* below = dynamic_cast<const Block*>(inner_);
    if (below != nullptr && !size_.layer && !below->cells_.layer) {
      cells_ = {saturating_product(size_.value, below->cells_.value)};
      inner_ = below->inner_;
    }
  }

  int multiplicity(const Context& context, std::int64_t query, std::int64_t key) const override {
    const std::int64_t size = cells_.at(context);
    return inner_->multiplicity(grid(context), query / size, key / size);
  }

  int uniform(const Context& context, const Range& query, const Range& key) const override {
    const std::int64_t size = cells_.at(context);
    return inner_->uniform(grid(context), {query.begin / size, (query.end - 1) / size + 1},
                           {key.begin / size, (key.end - 1) / size + 1});
  }

  std::uint64_t row_bits(const Context& context, std::int64_t query, std::int64_t first, int count) const override {
    const std::int64_t size = cells_.at(context);
    const std::int64_t first_block = first / size;
    const int blocks = static_cast<int>((first + count - 1) / size - first_block) + 1;
    const std::uint64_t coarse = inner_->row_bits(grid(context), query / size, first_block, blocks);
    if (size == 1 || coarse == 0) {
      return coarse;
    }
    std::uint64_t bits = 0;
    for (std::uint64_t rest = coarse; rest != 0; rest &= rest - 1) {
      const std::int64_t begin = (first_block + std::countr_zero(rest)) * size;
      bits |= interval_bits(begin, begin + (size - 1), first, count);
    }
    return bits;
  }

  void rows_bits(const Context& context, const Range& query, std::int64_t first, int count,
                 std::span<std::uint64_t> bits) const override {
    const std::int64_t size = cells_.at(context);
    for (std::int64_t each = query.begin; each < query.end; ++each) {
      const auto at = static_cast<std::size_t>(each - query.begin);
      const bool is_again = at > 0 && each % size != 0;  // queries of one block see the same
      bits[at] = is_again ? bits[at - 1] : row_bits(context, each, first, count);
    }
  }

  std::int64_t first_key(const Context& context, const Range& query, const Range& key) const override {
    const std::int64_t size = cells_.at(context);
    const std::int64_t block = inner_->first_key(grid(context), {query.begin / size, (query.end - 1) / size + 1},
                                                 {key.begin / size, (key.end - 1) / size + 1});
    return std::clamp(block * size, key.begin, key.end);
  }

  void signature(const Context& context, const Range& query, const Range& key, Signature& numbers) const override {
    const std::int64_t size = cells_.at(context);
    numbers.insert(numbers.end(), {query.begin % size, key.begin % size});
    inner_->signature(grid(context), {query.begin / size, (query.end - 1) / size + 1},
                      {key.begin / size, (key.end - 1) / size + 1}, numbers);
  }

  EdgeKind edge_kind(const Context& context, std::int64_t query, std::int64_t key) const override {
    return inner_->edge_kind(grid(context), query / cells_.at(context), key / cells_.at(context));
  }
  std::int64_t period(const Context& context) const override {
    return saturating_product(inner_->period(grid(context)), cells_.at(context));
  }
  /// Queries of one block share their row.
  ListedKeys listed_keys(const Context& context) const override {
    const ListedKeys blocks = inner_->listed_keys(grid(context));
    const double sharing = static_cast<double>(std::min<std::int64_t>(cells_.at(context), kSharing));
    return {blocks.row / sharing, blocks.least / sharing};
  }
  void odd_queries(const Context& context, std::vector<Range>& ranges) const override {
    const std::size_t before = ranges.size();
    inner_->odd_queries(grid(context), ranges);
    for (std::size_t i = before; i < ranges.size(); ++i) {
      ranges[i] = {saturating_product(ranges[i].begin, cells_.at(context)),
                   saturating_product(ranges[i].end, cells_.at(context))};
    }
  }
  void check(const Context& context) const override {
    check_size(context, size_, 1, *this, "the block size");
    pattern_->check(grid(context, size_));
  }
  NodeKind kind() const override { return NodeKind::kBlock; }
  std::span<const NodePtr> children() const override { return {&pattern_, 1}; }
  void print(Printer& printer) const override {
    printer.open("block");
    printer.argument().number(size_);
    printer.argument().node(*pattern_).close();
  }

 private:
  // Every block that holds a query of the call: the first one begins before the offset where that is no multiple of b,
  // as it does while a cache grows token by token.
  static Context grid(const Context& context, const Size& cells) {
    const std::int64_t size = cells.at(context);
    Context blocks = context;
    blocks.query_offset = context.query_offset / size;
    blocks.query_length = ceil_divide(context.query_offset + context.query_length, size) - blocks.query_offset;
    blocks.key_length = ceil_divide(context.key_length, size);
    blocks.unit = saturating_product(context.unit, size);
    return blocks;
  }
  Context grid(const Context& context) const { return grid(context, cells_); }

  static constexpr std::int64_t kSharing = 64;  // queries that are asked about together

  Size size_;
  NodePtr pattern_;
  Size cells_;         // of a block of the innermost grid
  const Node* inner_;  // what stands on that grid; pattern_ keeps it alive
};

std::string counted_text(std::int64_t heads) { return std::to_string(heads) + (heads == 1 ? " head" : " heads"); }

/// Asks the pattern of the context's head.
class Heads final : public Node {
 public:
  explicit Heads(std::vector<HeadShare> shares) {
    std::int64_t end = 0;
    for (HeadShare& share : shares) {
      end += share.count.value_or(0);
      ends_.push_back(end);
      patterns_.push_back(std::move(share.pattern));
    }
  }

  int multiplicity(const Context& context, std::int64_t query, std::int64_t key) const override {
    return of(context).multiplicity(context, query, key);
  }
  int uniform(const Context& context, const Range& query, const Range& key) const override {
    return of(context).uniform(context, query, key);
  }
  std::uint64_t row_bits(const Context& context, std::int64_t query, std::int64_t first, int count) const override {
    return of(context).row_bits(context, query, first, count);
  }
  void rows_bits(const Context& context, const Range& query, std::int64_t first, int count,
                 std::span<std::uint64_t> bits) const override {
    of(context).rows_bits(context, query, first, count, bits);
  }
  std::int64_t first_key(const Context& context, const Range& query, const Range& key) const override {
    return of(context).first_key(context, query, key);
  }
  void signature(const Context& context, const Range& query, const Range& key, Signature& numbers) const override {
    of(context).signature(context, query, key, numbers);
  }
  EdgeKind edge_kind(const Context& context, std::int64_t query, std::int64_t key) const override {
    return of(context).edge_kind(context, query, key);
  }
  std::int64_t period(const Context& context) const override { return of(context).period(context); }
  bool additive(const Context& context) const override { return of(context).additive(context); }
  const Node& resolved(const Context& context) const override { return of(context).resolved(context); }
  ListedKeys listed_keys(const Context& context) const override { return of(context).listed_keys(context); }
  void odd_queries(const Context& context, std::vector<Range>& ranges) const override {
    of(context).odd_queries(context, ranges);
  }

  void check(const Context& context) const override {
    const auto shares = static_cast<std::int64_t>(patterns_.size());
    if (counted() && ends_.back() != context.heads) {
      fail(ErrorKind::kExpression, "pattern: ", to_string(*this), " names patterns for ", counted_text(ends_.back()),
           ", but the layer has ", counted_text(context.heads));
    }
    if (!counted() && context.heads % shares != 0) {
      fail(ErrorKind::kExpression, "pattern: ", to_string(*this), " divides the heads into ", shares,
           " equal shares, but the layer has ", counted_text(context.heads));
    }
    Node::check(context);
  }

  NodeKind kind() const override { return NodeKind::kHeads; }
  std::span<const NodePtr> children() const override { return patterns_; }
  void print(Printer& printer) const override {
    printer.open("heads");
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      printer.argument();
      if (counted()) {
        printer.number({ends_[i] - (i == 0 ? 0 : ends_[i - 1])}).text(" * ");
      }
      printer.node(*patterns_[i]);
    }
    printer.close();
  }

 private:
  bool counted() const { return ends_.back() != 0; }

  const Node& of(const Context& context) const {
    if (counted()) {
      const auto share = std::upper_bound(ends_.begin(), ends_.end(), context.head) - ends_.begin();
      return *patterns_[static_cast<std::size_t>(share)];
    }
    const std::int64_t each = context.heads / static_cast<std::int64_t>(patterns_.size());
    return *patterns_[static_cast<std::size_t>(context.head / each)];
  }

  std::vector<NodePtr> patterns_;
  std::vector<std::int64_t> ends_;  // running sums of the counts; all 0 where shares are equal
};

}  // namespace

NodePtr block(const Size& size, NodePtr pattern) { return make_node<Block>(size, std::move(pattern)); }

NodePtr block(std::int64_t size, NodePtr pattern) {
  require(size >= 1 && size <= kMaximumSize, "pattern: a block size must be in [1, 2^62], found ", size);
  return block(Size{size}, std::move(pattern));
}

NodePtr heads(std::vector<HeadShare> shares) {
  require(!shares.empty(), "pattern: heads needs at least one pattern");
  for (const HeadShare& share : shares) {
    require(share.count.has_value() == shares.front().count.has_value(),
            "pattern: either every pattern of heads has a count or none has");
    require(share.count.value_or(1) >= 1 && share.count.value_or(1) <= (std::int64_t{1} << 31),
            "pattern: a count of heads must be in [1, 2^31], found ", share.count.value_or(1));
    require(!any_node(*share.pattern, [](const Node& node) { return node.kind() == NodeKind::kHeads; }),
            "pattern: heads inside heads");
  }
  return make_node<Heads>(std::move(shares));
}

NodePtr build_block(const Call& call) { return block(call.integer("b"), call.get("pattern").pattern); }
NodePtr build_heads(const Call& call) { return heads(call.terms); }

}  // namespace weft::pattern
