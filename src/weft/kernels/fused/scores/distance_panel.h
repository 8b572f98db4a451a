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

}  // namespace weft::kernels
