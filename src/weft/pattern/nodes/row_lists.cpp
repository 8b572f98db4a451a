// SPDX-License-Identifier: Apache-2.0
// Questions to row lists, answered by binary search. A range of queries is merged into one sorted list, because the
// compiler bisects the keys of the same queries many times.
#include "weft/pattern/nodes/row_lists.h"

#include <algorithm>
#include <charconv>

#include "weft/core/random.h"

namespace weft::pattern {
namespace {

constexpr std::size_t kSlots = 1024;
constexpr std::size_t kMaximumHeld = std::size_t{1} << 22;  // keys: 32 MB a node
constexpr std::int64_t kMergedQueries = 4096;

std::int64_t count_within(const RowKeys& keys, const Range& range) {
  const auto begin = std::lower_bound(keys.begin(), keys.end(), range.begin);
  return std::lower_bound(begin, keys.end(), range.end) - begin;
}

/// An edge in a list that ascends by key and tells the query too; keys are below 2^40, so that both fit.
constexpr std::int64_t merged_edge(std::int64_t query, std::int64_t key) { return key * kMergedQueries + query; }

}  // namespace

bool RowLists::Id::operator==(const Id& other) const noexcept {
  return head == other.head && layer == other.layer && key_length == other.key_length && chunk == other.chunk &&
         query.begin == other.query.begin && query.end == other.query.end;
}

ListedKeys RowLists::listed_keys(const Context& context) const {
  if (everywhere(context) != kMixed || context.key_length == 0) {
    return {};
  }
  const double row = row_work(context);
  const auto length = static_cast<double>(context.key_length);
  return {row, row * std::min(1.0, static_cast<double>(chunk_length(context)) / length)};
}

int RowLists::multiplicity(const Context& context, std::int64_t query, std::int64_t key) const {
  return uniform(context, {query, query + 1}, {key, key + 1});
}

int RowLists::uniform(const Context& context, const Range& query, const Range& key) const {
  const int even = everywhere(context);
  const std::int64_t length = chunk_length(context);
  if (even != kMixed || key.begin / length != (key.end - 1) / length || query.size() > kMergedQueries) {
    return even;
  }
  // Keys of one row differ, so that the rectangle is full exactly when the count is its area.
  const std::int64_t edges = count_edges(context, query, key);
  if (edges == 0) {
    return 0;
  }
  return edges == saturating_product(query.size(), key.size()) ? 1 : kMixed;
}

std::uint64_t RowLists::row_bits(const Context& context, std::int64_t query, std::int64_t first, int count) const {
  const int even = everywhere(context);
  if (even != kMixed) {
    return even == 1 ? low_bits(count) : 0;
  }
  const std::int64_t length = chunk_length(context);
  std::uint64_t bits = 0;
  for (std::int64_t chunk = first / length; chunk <= (first + count - 1) / length; ++chunk) {
    const Kept keys = row(context, query, chunk);
    for (auto key = std::lower_bound(keys->begin(), keys->end(), first); key != keys->end() && *key < first + count;
         ++key) {
      bits |= std::uint64_t{1} << (*key - first);
    }
  }
  return bits;
}

/// Of keys in one chunk.
std::int64_t RowLists::count_edges(const Context& context, const Range& query, const Range& key) const {
  const std::int64_t chunk = key.begin / chunk_length(context);
  if (query.size() == 1) {
    return count_within(*row(context, query.begin, chunk), key);
  }
  return count_within(*rows(context, query, chunk), {merged_edge(0, key.begin), merged_edge(0, key.end)});
}

/// Within the chunk where the keys begin.
std::int64_t RowLists::first_key(const Context& context, const Range& query, const Range& key) const {
  const int even = everywhere(context);
  if (even != kMixed || query.size() > kMergedQueries) {
    return even == 0 ? key.end : key.begin;
  }
  const std::int64_t length = chunk_length(context);
  const std::int64_t chunk = key.begin / length;
  const std::int64_t end = std::min(key.end, saturating_product(chunk + 1, length));
  const Kept edges = rows(context, query, chunk);
  const auto next = std::lower_bound(edges->begin(), edges->end(), merged_edge(0, key.begin));
  return next == edges->end() ? end : std::min(*next / kMergedQueries, end);
}

void RowLists::rows_bits(const Context& context, const Range& query, std::int64_t first, int count,
                         std::span<std::uint64_t> bits) const {
  if (query.size() == 1 || query.size() > kMergedQueries || everywhere(context) != kMixed) {
    Node::rows_bits(context, query, first, count, bits);
    return;
  }
  std::fill(bits.begin(), bits.end(), 0);
  const std::int64_t length = chunk_length(context);
  const std::int64_t end = merged_edge(0, first + count);
  for (std::int64_t chunk = first / length; chunk <= (first + count - 1) / length; ++chunk) {
    const Kept edges = rows(context, query, chunk);
    auto edge = std::lower_bound(edges->begin(), edges->end(), merged_edge(0, first));
    for (; edge != edges->end() && *edge < end; ++edge) {
      bits[static_cast<std::size_t>(*edge % kMergedQueries)] |= std::uint64_t{1} << (*edge / kMergedQueries - first);
    }
  }
}

void RowLists::signature(const Context& context, const Range& query, const Range& key, Signature& numbers) const {
  const int value = uniform(context, query, key);
  numbers.push_back(value);
  if (value == kMixed) {
    numbers.insert(numbers.end(), {query.begin, key.begin});
  }
}

RowLists::Kept RowLists::row(const Context& context, std::int64_t query, std::int64_t chunk) const {
  const Id id{context.head, context.layer, context.key_length, chunk, {query, query + 1}};
  const std::size_t place = static_cast<std::size_t>(query + chunk) % kSlots;
  {
    const std::scoped_lock lock(mutex_);
    rows_.resize(kSlots);
    if (rows_[place].keys != nullptr && rows_[place].id == id) {
      return rows_[place].keys;
    }
  }
  // Drawn outside the lock: threads that want the same row do the work twice, and one result stays.
  Kept kept = std::make_shared<const RowKeys>(keys(context, query, chunk));
  const std::scoped_lock lock(mutex_);
  held_ += kept->size() - (rows_[place].keys == nullptr ? 0 : rows_[place].keys->size());
  if (held_ > kMaximumHeld) {
    rows_.assign(kSlots, {});
    held_ = kept->size();
  }
  rows_[place] = {id, kept};
  return kept;
}

RowLists::Kept RowLists::rows(const Context& context, const Range& query, std::int64_t chunk) const {
  const Id id{context.head, context.layer, context.key_length, chunk, query};
  {
    const std::scoped_lock lock(mutex_);
    if (merged_.keys != nullptr && merged_.id == id) {
      return merged_.keys;
    }
  }
  RowKeys merged;
  for (std::int64_t each = query.begin; each < query.end; ++each) {
    const Kept keys = row(context, each, chunk);  // held here: another thread may drop it from the slots
    for (const std::int64_t key : *keys) {
      merged.push_back(merged_edge(each - query.begin, key));
    }
  }
  std::sort(merged.begin(), merged.end());
  Kept kept = std::make_shared<const RowKeys>(std::move(merged));
  const std::scoped_lock lock(mutex_);
  merged_ = {id, kept};
  return kept;
}

std::uint64_t draw_bits(DrawFor kind, std::int64_t seed, std::int64_t head, std::int64_t query, std::int64_t index) {
  // A head is below 2^17 and an index below 2^47: rows draw at most 2^20 keys, chunks of a row count to 2^30.
  const std::uint64_t key = static_cast<std::uint64_t>(seed) ^ (static_cast<std::uint64_t>(kind) * 0x9E3779B97F4A7C15);
  const std::uint64_t high = (static_cast<std::uint64_t>(head) << 47) | static_cast<std::uint64_t>(index);
  return random_bits(key, static_cast<std::uint64_t>(query), high);
}

double draw_unit(std::uint64_t bits) { return static_cast<double>((bits >> 11) + 1) * 0x1p-53; }

std::string shortest(double value) {
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), value).ptr;
  return {std::begin(text), end};
}

}  // namespace weft::pattern
