// SPDX-License-Identifier: Apache-2.0
// NumPy's pairwise sum (numpy/_core/src/umath/loops_utils.h.src, pairwise_sum), with the same cuts.
#include "weft/metrics/sums.h"

#include <array>
#include <limits>
#include <vector>

namespace weft::metrics {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kBlock = 128;

double block_sum(std::span<const double> values) noexcept {
  std::array<double, kLanes> lane{};
  const std::size_t whole = values.size() - values.size() % kLanes;
  for (std::size_t i = 0; i < whole; ++i) {
    lane[i % kLanes] = i < kLanes ? values[i] : lane[i % kLanes] + values[i];
  }
  double sum = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  for (const double value : values.subspan(whole)) {
    sum += value;
  }
  return sum;
}

}  // namespace

double pairwise_sum(std::span<const double> values) noexcept {
  if (values.size() <= kBlock) {
    return block_sum(values);
  }
  std::size_t half = values.size() / 2;
  half -= half % kLanes;
  return pairwise_sum(values.first(half)) + pairwise_sum(values.subspan(half));
}

double mean(std::span<const double> values) noexcept {
  return values.empty() ? std::numeric_limits<double>::quiet_NaN()
                        : pairwise_sum(values) / static_cast<double>(values.size());
}

double weighted_mean(std::span<const double> values, std::span<const double> weights) {
  std::vector<double> products(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    products[i] = values[i] * weights[i];
  }
  return pairwise_sum(products) / pairwise_sum(weights);
}

}  // namespace weft::metrics
