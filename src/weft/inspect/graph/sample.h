// SPDX-License-Identifier: Apache-2.0
// Means over positions that are measured on all of them, or on a sample with a stated error.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::inspect {

/// A mean and what is known about it.
struct Estimate {
  double value = 0;
  double error = 0;  ///< half the width of the 95% confidence interval; 0 where all positions were measured
};

/// All of [0, positions), or `count` of them spread evenly, one drawn in each of as many equal pieces.
std::vector<std::int64_t> sample_positions(std::int64_t positions, std::int64_t count);

/// sum(sums) / sum(counts) over sampled positions out of `positions`, as a ratio estimate (Cochran 1977, section 6.4).
Estimate ratio_estimate(const std::vector<double>& sums, const std::vector<double>& counts, std::int64_t positions);

}  // namespace weft::inspect
