// SPDX-License-Identifier: Apache-2.0
// A pattern whose rows are lists of keys: drawn from a counter generator, or read from a file. A row is computed alone,
// in chunks of keys where it may be long, and the chunks met last are remembered.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "weft/pattern/syntax.h"

namespace weft::pattern {

/// A row draws at most this many keys.
inline constexpr std::int64_t kMaximumDrawn = std::int64_t{1} << 20;

/// Ascending and distinct.
using RowKeys = std::vector<std::int64_t>;

class RowLists : public Node {
 public:
  int multiplicity(const Context& context, std::int64_t query, std::int64_t key) const final;
  int uniform(const Context& context, const Range& query, const Range& key) const final;
  std::uint64_t row_bits(const Context& context, std::int64_t query, std::int64_t first, int count) const final;
  void rows_bits(const Context& context, const Range& query, std::int64_t first, int count,
                 std::span<std::uint64_t> bits) const final;
  std::int64_t first_key(const Context& context, const Range& query, const Range& key) const final;
  void signature(const Context& context, const Range& query, const Range& key, Signature& numbers) const final;
  EdgeKind edge_kind(const Context&, std::int64_t, std::int64_t) const override { return EdgeKind::kRandom; }
  std::int64_t period(const Context&) const final { return 0; }
  ListedKeys listed_keys(const Context& context) const final;

 protected:
  /// The keys of `query` in [chunk * chunk_length, (chunk + 1) * chunk_length).
  virtual RowKeys keys(const Context& context, std::int64_t query, std::int64_t chunk) const = 0;
  virtual std::int64_t chunk_length(const Context&) const { return kMaximumSize; }
  /// About how many draws or look-ups the keys of a whole row take.
  virtual double row_work(const Context& context) const = 0;
  /// 0 or 1 where every pair has that multiplicity, so that no row is looked at.
  virtual int everywhere(const Context&) const { return kMixed; }

 private:
  using Kept = std::shared_ptr<const RowKeys>;
  struct Id {
    std::int64_t head = 0;
    std::int64_t layer = 0;
    std::int64_t key_length = -1;
    std::int64_t chunk = 0;
    Range query;
    bool operator==(const Id& other) const noexcept;
  };
  struct Slot {
    Id id;
    Kept keys;
  };

  Kept row(const Context& context, std::int64_t query, std::int64_t chunk) const;
  Kept rows(const Context& context, const Range& query, std::int64_t chunk) const;
  std::int64_t count_edges(const Context& context, const Range& query, const Range& key) const;

  mutable std::mutex mutex_;
  mutable std::vector<Slot> rows_;  // by query, the last one met wins
  mutable Slot merged_;             // edges of a range of queries, by key: see merged_edge()
  mutable std::size_t held_ = 0;    // keys in rows_
};

/// What a draw is for: kinds with equal seeds draw apart.
enum class DrawFor : std::uint64_t { kRandom = 1, kErdosRenyi, kWattsStrogatz };

/// A 64-bit draw. `head` is 0 where all heads share their draws, else the head's number + 1; `index` counts the draws
/// of a query.
std::uint64_t draw_bits(DrawFor kind, std::int64_t seed, std::int64_t head, std::int64_t query, std::int64_t index);

/// A number in (0, 1] from a draw.
double draw_unit(std::uint64_t bits);

/// A probability as the shortest text that reads back to it.
std::string shortest(double value);

}  // namespace weft::pattern
