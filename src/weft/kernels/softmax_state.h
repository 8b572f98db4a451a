// SPDX-License-Identifier: Apache-2.0
// The online softmax of one row (Milakov and Gimelshein 2018; Dao et al. 2022): scores arrive in spans, and earlier
// sums are rescaled when the maximum grows. The maximum is always finite, so that a row without edges is zero and never
// NaN. No STL container here: files compiled for one instruction set include this header.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace weft::kernels {

template <typename Sum>
struct SoftmaxState {
  Sum maximum = std::numeric_limits<Sum>::lowest();
  Sum sum = 0;
  bool has_edges = false;  ///< set by who gives the scores: without an edge a sum of zero is an answer

  /// Replaces scores [count] (-infinity for no edge) with exp(score - maximum). Returns the factor for what was summed
  /// before.
  Sum update(Sum* scores, std::int64_t count) noexcept {
    const Sum before = maximum;
    for (std::int64_t at = 0; at < count; ++at) {
      maximum = scores[at] > maximum ? scores[at] : maximum;
    }
    maximum = maximum > std::numeric_limits<Sum>::max() ? std::numeric_limits<Sum>::max() : maximum;
    const Sum factor = std::exp(before - maximum);
    sum *= factor;
    for (std::int64_t at = 0; at < count; ++at) {
      scores[at] = std::exp(scores[at] - maximum);
      sum += scores[at];
    }
    return factor;
  }

  /// Joins the state of other keys of the same row.
  struct Factors {
    Sum mine;
    Sum other;
  };
  Factors merge(const SoftmaxState& other) noexcept {
    const Sum joined = maximum > other.maximum ? maximum : other.maximum;
    const Factors factors{std::exp(maximum - joined), std::exp(other.maximum - joined)};
    sum = sum * factors.mine + other.sum * factors.other;
    maximum = joined;
    has_edges = has_edges || other.has_edges;
    return factors;
  }

  /// The factor that turns weighted sums into averages: 0 for a row without edges, NaN where the scores have no
  /// softmax.
  Sum finish() const noexcept { return is_empty() ? Sum{0} : 1 / answer(); }

  Sum log_sum_exp() const noexcept {
    return is_empty() ? -std::numeric_limits<Sum>::infinity() : maximum + std::log(answer());
  }

 private:
  bool is_empty() const noexcept { return sum == 0 && !has_edges; }
  /// Edges whose scores are all -infinity, or one of +infinity, leave no softmax.
  Sum answer() const noexcept { return sum > 0 && std::isfinite(sum) ? sum : std::numeric_limits<Sum>::quiet_NaN(); }
};

}  // namespace weft::kernels
