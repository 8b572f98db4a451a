// SPDX-License-Identifier: Apache-2.0
// Sampling without surprises: the draws are Philox of the piece, so that a figure is the same on every run.
#include "weft/inspect/graph/sample.h"

#include <cmath>
#include <numeric>

#include "weft/core/random.h"

namespace weft::inspect {

std::vector<std::int64_t> sample_positions(std::int64_t positions, std::int64_t count) {
  std::vector<std::int64_t> sample;
  if (count >= positions) {
    sample.resize(static_cast<std::size_t>(positions));
    std::iota(sample.begin(), sample.end(), 0);
    return sample;
  }
  constexpr std::uint64_t kKey = 0x73616D706C65;
  for (std::int64_t piece = 0; piece < count; ++piece) {
    // Lengths are below 2^31 and samples below 2^20: no overflow.
    const std::int64_t begin = positions * piece / count;
    const std::int64_t end = positions * (piece + 1) / count;
    const std::uint64_t bits = random_bits(kKey, static_cast<std::uint64_t>(piece));
    sample.push_back(begin + static_cast<std::int64_t>(random_below(bits, static_cast<std::uint64_t>(end - begin))));
  }
  return sample;
}

Estimate ratio_estimate(const std::vector<double>& sums, const std::vector<double>& counts, std::int64_t positions) {
  const auto size = static_cast<double>(sums.size());
  const double count = std::accumulate(counts.begin(), counts.end(), 0.0);
  Estimate estimate;
  if (count == 0) {
    return estimate;
  }
  estimate.value = std::accumulate(sums.begin(), sums.end(), 0.0) / count;
  if (size >= static_cast<double>(positions) || size < 2) {
    return estimate;
  }
  double squares = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double residual = sums[i] - estimate.value * counts[i];
    squares += residual * residual;
  }
  const double unsampled = 1 - size / static_cast<double>(positions);
  estimate.error = 1.96 * std::sqrt(unsampled * squares / (size - 1) / size) / (count / size);
  return estimate;
}

}  // namespace weft::inspect
