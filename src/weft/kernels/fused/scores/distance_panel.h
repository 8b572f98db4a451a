// SPDX-License-Identifier: Apache-2.0
// A distance table on a panel of scores: kernels/distance_table.h for a vector of queries at once. A panel of 32
// queries and 64 keys meets 95 distances. They are fetched once, to a window in which the lanes of a key are
// neighbours:
//   window[lane + 63 - key] <-> scores[key][lane]
// Behind it, where the gradient of the table is summed.
#pragma once

#include <cstdint>
#include <limits>

#include "weft/kernels/distance_table.h"
#include "weft/kernels/fused/tile.h"

namespace weft::kernels {

template <class Isa>
class PanelDistances {
 public:
  explicit PanelDistances(const DistanceTable& table) noexcept : table_(table) {}

  bool is_on() const noexcept { return table_.scores != nullptr; }

  /// Adds the table of a head to scores[key][kPanel].
  void apply(std::int64_t head, float* scores, const PanelSpan& span) const noexcept {
    const float* row = static_cast<const float*>(table_.scores) + head * table_.rows * table_.span;
    alignas(64) float window[kWindow];
    for (std::int64_t at = 0; at < kWindow; at += Isa::kLanes) {
      const std::int64_t entry = first_entry(span) + at;
      for (std::int64_t lane = 0; lane < Isa::kLanes && !is_inside(entry); ++lane) {
        window[at + lane] = row[inside(entry + lane)];
      }
      if (is_inside(entry)) {
        Isa::store(window + at, Isa::load(row + entry));
      }
    }
    each_vector(span, [&](std::int64_t key, std::int64_t lane, bool is_apart) {
      float* to = scores + key * kPanel + lane;
      for (std::int64_t at = 0; at < Isa::kLanes && is_apart; ++at) {
        to[at] += row[place(span, key, lane + at)];
      }
      if (!is_apart) {
        Isa::store(to, Isa::add(Isa::load(to), Isa::load(window + lane + kTile - 1 - key)));
      }
    });
  }

  /// Adds gradients[key][kPanel] of scores to sums[rows][span], and multiplies them by `scale`.
  void take(float* gradients, float scale, const PanelSpan& span, float* sums) const noexcept {
    // Neighbouring keys add to overlapping vectors. In windows of their own no load waits for the store before it.
    alignas(64) float windows[kWindows][kWindow] = {};
    each_vector(span, [&](std::int64_t key, std::int64_t lane, bool is_apart) {
      float* from = gradients + key * kPanel + lane;
      const auto gradient = Isa::load(from);
      for (std::int64_t at = 0; at < Isa::kLanes && is_apart; ++at) {
        sums[place(span, key, lane + at)] += from[at];
      }
      if (!is_apart) {
        float* to = windows[key % kWindows] + lane + kTile - 1 - key;
        Isa::store(to, Isa::add(Isa::load(to), gradient));
      }
      Isa::store(from, Isa::multiply(gradient, Isa::set(scale)));
    });
    for (std::int64_t at = 0; at < kWindow; at += Isa::kLanes) {
      auto sum = Isa::load(windows[0] + at);
      for (int window = 1; window < kWindows; ++window) {
        sum = Isa::add(sum, Isa::load(windows[window] + at));
      }
      add(first_entry(span) + at, sum, sums);
    }
  }

  /// Makes the entries of a key and the lanes in `seen_by` NaN in sums[rows][span].
  void spoil(std::int64_t key, std::uint64_t seen_by, const PanelSpan& span, float* sums) const noexcept {
    for (; seen_by != 0; seen_by &= seen_by - 1) {
      sums[place(span, key, __builtin_ctzll(seen_by))] = std::numeric_limits<float>::quiet_NaN();
    }
  }

 private:
  static constexpr std::int64_t kWindow = kTile + kPanel;
  static constexpr int kWindows = 4;

  // That of window[0]: of lane 0 and key 63.
  std::int64_t first_entry(const PanelSpan& span) const noexcept {
    return span.first_query + table_.query_offset - span.first_key - (kTile - 1) + table_.zero;
  }
  bool is_inside(std::int64_t entry) const noexcept { return entry >= 0 && entry + Isa::kLanes <= table_.span; }
  std::int64_t inside(std::int64_t entry) const noexcept { return smaller(larger(entry, 0), table_.span - 1); }

  std::int64_t place(const PanelSpan& span, std::int64_t key, std::int64_t lane) const noexcept {
    return distance_place(table_, span.first_query + lane, span.first_key + key);
  }

  // Calls work(key, first lane, whether some lane has its entry in the second row).
  template <typename Work>
  [[gnu::always_inline]] void each_vector(const PanelSpan& span, const Work& work) const noexcept {
    const std::int64_t position = span.first_query + table_.query_offset;
    for (std::int64_t lane = 0; lane < span.vectors * Isa::kLanes; lane += Isa::kLanes) {
      const bool has_first = table_.rows == 2 && position + lane <= 0 && position + lane + Isa::kLanes > 0;
      for (std::int64_t key = span.begin; key < span.end; ++key) {
        work(key, lane, has_first || (table_.rows == 2 && span.first_key + key == 0));
      }
    }
  }

  void add(std::int64_t entry, typename Isa::Vector numbers, float* sums) const noexcept {
    if (is_inside(entry)) {
      return Isa::store(sums + entry, Isa::add(Isa::load(sums + entry), numbers));
    }
    float lanes[Isa::kLanes];
    Isa::store(lanes, numbers);
    for (std::int64_t lane = 0; lane < Isa::kLanes; ++lane) {
      sums[inside(entry + lane)] += lanes[lane];
    }
  }

  const DistanceTable& table_;
};

/// Tables [rows][span] of the heads from `first_head` on; null where no gradient is asked.
struct DistanceSums {
  float* data;
  std::int64_t first_head;
  std::int64_t entries;  ///< rows * span

  [[gnu::always_inline]] float* of(std::int64_t head) const noexcept {
    return data == nullptr ? nullptr : data + (head - first_head) * entries;
  }
};

/// The sums of a call: a table for each head of each member of the batch, and one more for each range of keys where
/// threads share a head. They are added up in a fixed order, so that results repeat.
template <class Isa>
class DistanceGradient {
 public:
  DistanceGradient(const AttentionArguments& arguments, const AttentionGradients& gradients) noexcept
      : arguments_(arguments),
        result_(static_cast<float*>(gradients.distance_gradient)),
        entries_(result_ == nullptr ? 0 : arguments.distances.rows * arguments.distances.span),
        tables_(arguments.batch * arguments.heads * entries_) {
    if (tables_.is_there()) {
      clear(tables_.data(), arguments.batch * arguments.heads);
    }
  }

  bool is_there() const noexcept { return tables_.is_there(); }
  /// Of a table.
  std::int64_t entries() const noexcept { return entries_; }

  /// The tables of the heads of one member of the batch from `first_head` on.
  DistanceSums of(std::int64_t batch, std::int64_t first_head) const noexcept {
    return in(tables_.data() + (batch * arguments_.heads + first_head) * entries_, first_head);
  }
  /// `tables`, zero at first, in place of them.
  DistanceSums in(float* tables, std::int64_t first_head) const noexcept {
    return {result_ == nullptr ? nullptr : tables, first_head, entries_};
  }
  void clear(float* tables, std::int64_t count) const noexcept {
    __builtin_memset(tables, 0, static_cast<std::size_t>(count * entries_) * sizeof(float));
  }

  /// Adds `count` groups of `heads` tables, in their order, to those of `sums`.
  void merge(const DistanceSums& sums, const float* groups, std::int64_t count, std::int64_t heads) const noexcept {
    const std::int64_t size = heads * entries_;
    for (std::int64_t group = 0; group < count; ++group) {
      for (std::int64_t at = 0; at < size; ++at) {
        sums.data[at] += groups[group * size + at];
      }
    }
  }

  /// Writes the result: sums over the batch, in its order.
  void store() const noexcept {
    const std::int64_t size = arguments_.heads * entries_;
    for (std::int64_t at = 0; at < size; ++at) {
      float sum = 0;
      for (std::int64_t batch = 0; batch < arguments_.batch; ++batch) {
        sum += tables_.data()[batch * size + at];
      }
      result_[at] = sum;
    }
  }

 private:
  const AttentionArguments& arguments_;
  float* result_;
  std::int64_t entries_;
  Buffer<Isa, float> tables_;  // [batch][heads][rows][span]
};

}  // namespace weft::kernels
