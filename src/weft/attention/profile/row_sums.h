// SPDX-License-Identifier: Apache-2.0
// The sums that the rows of one head go into: plain loops over numbers that lie side by side, which a compiler turns
// into vectors. What a row of the batch gives is summed in float64 first, where one entry takes the probabilities of
// many rows, and rounded to units once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "weft/attention/profile/whole_units.h"
#include "weft/profile/mass_sums.h"

namespace weft::attention {

template <typename Number>
class RowSums {
 public:
  /// `sums` has room for the call: positions of queries to `last`, and `keys` keys.
  RowSums(profile::MassSums& sums, std::int64_t head, std::int64_t last, std::int64_t keys)
      : sums_(sums),
        head_(head),
        last_(last),
        keys_(static_cast<std::size_t>(keys)),
        nearness_(static_cast<std::size_t>(last + keys)),
        tiles_(static_cast<std::size_t>(sums.key_tiles())) {}

  /// A row is measured, run by run of keys, before it is added, likewise.
  void begin_row(std::int64_t position) {
    position_ = position;
    sum_ = 0.0;
    weighted_ = 0.0;
    std::fill(tiles_.begin(), tiles_.end(), 0.0);
  }

  /// `exponentials` are those of `scores`, which are relative to the row's largest: of `count` keys from `first` on.
  void measure(const Number* exponentials, const Number* scores, std::int64_t first, std::int64_t count) {
    const std::int64_t tile = sums_.shape().tile;
    for (std::int64_t begin = 0; begin < count;) {
      const std::int64_t number = (first + begin) / tile;
      const std::int64_t end = std::min(count, (number + 1) * tile - first);
      const double sum = measure_tile(exponentials + begin, scores + begin, end - begin);
      tiles_[static_cast<std::size_t>(number)] += sum;
      sum_ += sum;
      begin = end;
    }
  }

  void add(const Number* exponentials, std::int64_t first, std::int64_t count) {
    const double inverse = 1.0 / sum_;
    double* __restrict keys = keys_.data() + first;
    double* __restrict nearness = nearness_.data() + last_ - position_ + first;
    for (std::int64_t key = 0; key < count; ++key) {
      const double probability = static_cast<double>(exponentials[key]) * inverse;
      keys[key] += probability;
      nearness[key] += probability;
    }
    if (sums_.has_edges()) {
      std::int64_t* __restrict edges = sums_.edge.data() + (head_ * sums_.queries() + position_) * sums_.keys() + first;
      const double units = inverse / profile::kMassUnit;
      for (std::int64_t key = 0; key < count; ++key) {
        edges[key] += nearest_whole(static_cast<double>(exponentials[key]) * units);
      }
    }
  }

  /// Entropy = log sum exp(s) - sum p s, with s relative to the largest.
  void end_row() {
    const double units = 1.0 / (sum_ * profile::kMassUnit);
    std::int64_t* line =
        sums_.tile.data() + (head_ * sums_.query_tiles() + position_ / sums_.shape().tile) * sums_.key_tiles();
    for (std::size_t number = 0; number < tiles_.size(); ++number) {
      line[number] += nearest_whole(tiles_[number] * units);
    }
    entropy_ += std::log(sum_) - weighted_ / sum_;
    ++sums_.rows[static_cast<std::size_t>(head_ * sums_.queries() + position_)];
  }

  /// Hands on what the rows of one member of the batch gave.
  void finish() {
    std::int64_t* keys = sums_.key.data() + head_ * sums_.keys();
    for (std::size_t key = 0; key < keys_.size(); ++key) {
      keys[key] += std::llrint(keys_[key] / profile::kMassUnit);
    }
    // Entry i of `nearness` has the distance last - i.
    std::int64_t* distances = sums_.distance.data() + head_ * sums_.distances() + last_ + sums_.keys() - 1;
    for (std::size_t entry = 0; entry < nearness_.size(); ++entry) {
      *(distances - entry) += std::llrint(nearness_[entry] / profile::kMassUnit);
    }
    sums_.entropy[static_cast<std::size_t>(head_)] += std::llrint(entropy_ / profile::kEntropyUnit);
    std::fill(keys_.begin(), keys_.end(), 0.0);
    std::fill(nearness_.begin(), nearness_.end(), 0.0);
    entropy_ = 0.0;
  }

 private:
  // Eight sums side by side: one sum would wait for itself at each key.
  double measure_tile(const Number* exponentials, const Number* scores, std::int64_t count) {
    constexpr std::int64_t kLanes = 8;
    double sums[kLanes] = {};
    double products[kLanes] = {};
    std::int64_t key = 0;
    for (; key + kLanes <= count; key += kLanes) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        const auto number = static_cast<double>(exponentials[key + lane]);
        sums[lane] += number;
        products[lane] += number * static_cast<double>(scores[key + lane]);
      }
    }
    for (; key < count; ++key) {
      sums[key % kLanes] += static_cast<double>(exponentials[key]);
      products[key % kLanes] += static_cast<double>(exponentials[key]) * static_cast<double>(scores[key]);
    }
    double sum = 0.0;
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      sum += sums[lane];
      weighted_ += products[lane];
    }
    return sum;
  }

  profile::MassSums& sums_;
  std::int64_t head_;
  std::int64_t last_;
  std::vector<double> keys_;      // of a member of the batch
  std::vector<double> nearness_;  // the same by key - position + last
  std::vector<double> tiles_;     // of a row, before it is divided
  double entropy_ = 0.0;
  std::int64_t position_ = 0;
  double sum_ = 0.0;
  double weighted_ = 0.0;
};

}  // namespace weft::attention
