// SPDX-License-Identifier: Apache-2.0
// Cuts a list of items of unequal cost into consecutive shares of equal cost, one a thread: a long row (a global token)
// counts for what it is.
#pragma once

#include <cstdint>

#include "weft/core/parallel.h"

namespace weft::kernels {

/// cost(item) >= 0 for items [0, count).
template <class Isa, typename Cost>
class Shares {
 public:
  Shares(std::int64_t count, std::int64_t shares, const Cost& cost) noexcept
      : count_(count), shares_(shares), cost_(cost) {
    for (std::int64_t item = 0; item < count; ++item) {
      total_ += cost(item);
    }
  }

  /// How much longer the longest share takes than an even one of `threads` would.
  double slowness(std::int64_t threads) const noexcept {
    double longest = 0;
    for (std::int64_t share = 0; share < shares_; ++share) {
      double cost = 0;
      run(share, share + 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t item = begin; item < end; ++item) {
          cost += cost_(item);
        }
      });
      longest = longest < cost ? cost : longest;
    }
    return total_ > 0 ? longest * static_cast<double>(threads) / total_ : 1;
  }

  /// Calls work(begin, end) for the items of shares [first, last).
  template <typename Work>
  void run(std::int64_t first, std::int64_t last, const Work& work) const noexcept {
    const double begin_cost = total_ * static_cast<double>(first) / static_cast<double>(shares_);
    const double end_cost = total_ * static_cast<double>(last) / static_cast<double>(shares_);
    std::int64_t begin = count_;
    std::int64_t end = count_;
    double before = 0;
    for (std::int64_t item = 0; item < count_ && end == count_; ++item) {
      begin = begin == count_ && before >= begin_cost ? item : begin;
      end = last < shares_ && before >= end_cost ? item : end;
      before += cost_(item);
    }
    if (begin < end) {
      work(begin, end);
    }
  }

 private:
  std::int64_t count_;
  std::int64_t shares_;
  const Cost& cost_;
  double total_ = 0;
};

/// Calls work(begin, end) over shares of equal cost of [0, count), a thread a share.
template <class Isa, typename Cost, typename Work>
void share_out(const ParallelFor& parallel, std::int64_t count, const Cost& cost, const Work& work) noexcept {
  const Shares<Isa, Cost> shares(count, smaller(count, parallel.threads()), cost);
  parallel_for(parallel, smaller(count, parallel.threads()), 1,
               [&](std::int64_t first, std::int64_t last) { shares.run(first, last, work); });
}

}  // namespace weft::kernels
