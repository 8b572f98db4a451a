// SPDX-License-Identifier: Apache-2.0
// The explicit plan: for each head and query block a list of key blocks with repetitions, which add to the multiplicity
// of a union. What a released BigBird plan draws becomes such a list.
#include <map>

#include "weft/core/error.h"
#include "weft/pattern/build.h"

namespace weft::pattern {
namespace {

struct PlanEntry {
  std::int64_t key;
  int count;
  friend bool operator==(const PlanEntry&, const PlanEntry&) = default;
};
using PlanRow = std::vector<PlanEntry>;  // ascending keys
using PlanHead = std::vector<PlanRow>;

/// Repetitions become counts.
PlanRow plan_row(const std::vector<std::int64_t>& keys) {
  std::map<std::int64_t, int> counts;
  for (const std::int64_t key : keys) {
    require(key >= 0, "pattern: a key block of a plan must not be negative, found ", key);
    ++counts[key];
  }
  PlanRow row;
  for (const auto& [key, count] : counts) {
    row.push_back({key, count});
  }
  return row;
}

/// Rows are few and short, so that every question is a binary search in each row asked about.
class ExplicitPlan final : public Node {
 public:
  explicit ExplicitPlan(const BlockPlan& blocks) {
    for (const auto& head : blocks.key_blocks) {
      PlanHead rows;
      std::transform(head.begin(), head.end(), std::back_inserter(rows), plan_row);
      heads_.push_back(std::move(rows));
      require(heads_.back().size() == heads_.front().size(),
              "pattern: the heads of a plan differ in query blocks: ", heads_.front().size(), " and ",
              heads_.back().size());
    }
    for (const PlanHead& head : heads_) {
      for (const PlanRow& row : head) {
        last_key_ = std::max(last_key_, row.empty() ? 0 : row.back().key);
      }
    }
    require(!heads_.empty() && !heads_.front().empty(), "pattern: a plan needs a head and a query block");
  }

  int multiplicity(const Context& context, std::int64_t query, std::int64_t key) const override {
    const PlanRow& row = rows(context)[static_cast<std::size_t>(query)];
    const auto entry = from(row, key);
    return entry == row.end() || entry->key != key ? 0 : entry->count;
  }

  std::uint64_t row_bits(const Context& context, std::int64_t query, std::int64_t first, int count) const override {
    const PlanRow& row = rows(context)[static_cast<std::size_t>(query)];
    std::uint64_t bits = 0;
    for (auto entry = from(row, first); entry != row.end() && entry->key < first + count; ++entry) {
      bits |= std::uint64_t{1} << (entry->key - first);
    }
    return bits;
  }

  void signature(const Context&, const Range& query, const Range& key, Signature& numbers) const override {
    numbers.insert(numbers.end(), {query.begin, key.begin});
  }
  EdgeKind edge_kind(const Context&, std::int64_t, std::int64_t) const override { return EdgeKind::kRandom; }
  std::int64_t period(const Context&) const override { return 0; }
  bool additive(const Context&) const override { return true; }
  NodeKind kind() const override { return NodeKind::kPlan; }

  int uniform(const Context& context, const Range& query, const Range& key) const override {
    const int value = multiplicity(context, query.begin, key.begin);
    for (std::int64_t i = query.begin; i < query.end; ++i) {
      const PlanRow& row = rows(context)[static_cast<std::size_t>(i)];
      const auto entry = from(row, key.begin);
      const bool none = entry == row.end() || entry->key >= key.end;
      const bool same = key.size() == 1 ? multiplicity(context, i, key.begin) == value : none && value == 0;
      if (!same) {
        return kMixed;
      }
    }
    return value;
  }

  void check(const Context& context) const override {
    const auto planned = static_cast<std::int64_t>(heads_.size());
    const auto blocks = static_cast<std::int64_t>(heads_.front().size());
    if (planned != 1 && planned != context.heads) {
      fail(ErrorKind::kExpression, "pattern: a plan for ", planned, " heads was given, but the layer has ",
           context.heads);
    }
    if (blocks != context.query_offset + context.query_length) {
      fail(ErrorKind::kExpression, "pattern: a plan for ", blocks, " query blocks was given, but the call has ",
           context.query_offset + context.query_length);
    }
    if (last_key_ >= context.key_length) {
      fail(ErrorKind::kExpression, "pattern: a plan names key block ", last_key_, ", but the call has ",
           context.key_length);
    }
  }

  void print(Printer& printer) const override {
    const Context* resolved = printer.resolved();
    const PlanHead* shown = resolved == nullptr ? nullptr : &rows(*resolved);
    printer.open("plan");
    printer.argument("heads").number({static_cast<std::int64_t>(resolved == nullptr ? heads_.size() : 1)});
    printer.argument("blocks").number({static_cast<std::int64_t>(heads_.front().size())});
    printer.argument("digest").text(std::to_string(digest(shown))).close();
  }

 private:
  const PlanHead& rows(const Context& context) const {
    return heads_[heads_.size() == 1 ? 0 : static_cast<std::size_t>(context.head)];
  }

  static PlanRow::const_iterator from(const PlanRow& row, std::int64_t key) {
    return std::lower_bound(row.begin(), row.end(), key,
                            [](const PlanEntry& entry, std::int64_t k) { return entry.key < k; });
  }

  /// FNV-1a over one head, or all where `only` is null.
  std::uint64_t digest(const PlanHead* only) const {
    std::uint64_t hash = 0xCBF29CE484222325;
    const auto mix = [&hash](std::uint64_t value) {
      for (int shift = 0; shift < 64; shift += 8) {
        hash = (hash ^ ((value >> shift) & 0xFF)) * 0x100000001B3;
      }
    };
    for (const PlanHead& head : heads_) {
      for (std::size_t i = 0; i < head.size() && (only == nullptr || only == &head); ++i) {
        mix(head[i].size());
        for (const PlanEntry& entry : head[i]) {
          mix(static_cast<std::uint64_t>(entry.key));
          mix(static_cast<std::uint64_t>(entry.count));
        }
      }
    }
    return hash;
  }

  std::vector<PlanHead> heads_;
  std::int64_t last_key_ = 0;
};

}  // namespace

NodePtr plan(BlockPlan blocks) { return make_node<ExplicitPlan>(blocks); }

}  // namespace weft::pattern
