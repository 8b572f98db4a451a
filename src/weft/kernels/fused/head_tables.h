// SPDX-License-Identifier: Apache-2.0
// Gradients that all pairs of a head add to: a table for each head of each member of the batch, and one more for each
// range of keys where threads share a head. They are added up in a fixed order, so that results repeat.
#pragma once

#include <cstdint>

#include "weft/kernels/fused/tile.h"

namespace weft::kernels {

/// Tables of the heads from `first_head` on; null where no gradient is asked.
struct HeadTables {
  float* data;
  std::int64_t first_head;
  std::int64_t entries;  ///< of a table

  [[gnu::always_inline]] float* of(std::int64_t head) const noexcept {
    return data == nullptr ? nullptr : data + (head - first_head) * entries;
  }
};

template <class Isa>
class TableGradient {
 public:
  /// `entries` of a table, 0 where no gradient is asked.
  TableGradient(std::int64_t batch, std::int64_t heads, std::int64_t entries) noexcept
      : batch_(batch), heads_(heads), entries_(entries), tables_(batch * heads * entries) {
    if (tables_.is_there()) {
      clear(tables_.data(), batch * heads);
    }
  }

  bool is_there() const noexcept { return tables_.is_there(); }
  std::int64_t entries() const noexcept { return entries_; }

  /// The tables of the heads of one member of the batch from `first_head` on.
  HeadTables of(std::int64_t batch, std::int64_t first_head) const noexcept {
    return in(tables_.data() + (batch * heads_ + first_head) * entries_, first_head);
  }
  /// `tables`, zero at first, in place of them.
  HeadTables in(float* tables, std::int64_t first_head) const noexcept {
    return {entries_ == 0 ? nullptr : tables, first_head, entries_};
  }
  void clear(float* tables, std::int64_t count) const noexcept {
    __builtin_memset(tables, 0, static_cast<std::size_t>(count * entries_) * sizeof(float));
  }

  /// Adds `count` groups of `heads` tables, in their order, to those of `sums`.
  void merge(const HeadTables& sums, const float* groups, std::int64_t count, std::int64_t heads) const noexcept {
    const std::int64_t size = heads * entries_;
    for (std::int64_t group = 0; group < count; ++group) {
      for (std::int64_t at = 0; at < size; ++at) {
        sums.data[at] += groups[group * size + at];
      }
    }
  }

  /// The sum of an entry over the batch, in its order.
  float total(std::int64_t head, std::int64_t entry) const noexcept {
    float sum = 0;
    for (std::int64_t batch = 0; batch < batch_; ++batch) {
      sum += tables_.data()[(batch * heads_ + head) * entries_ + entry];
    }
    return sum;
  }

 private:
  std::int64_t batch_;
  std::int64_t heads_;
  std::int64_t entries_;
  Buffer<Isa, float> tables_;  // [batch][heads][entries]
};

}  // namespace weft::kernels
