// SPDX-License-Identifier: Apache-2.0
// Sums and means in the order in which NumPy takes them: a figure that scikit-learn or seqeval averages is the same
// here to its last bit.
#pragma once

#include <span>

namespace weft::metrics {

/// The sum by NumPy's pairwise order: eight running sums over up to 128 values, halves of the rest.
double pairwise_sum(std::span<const double> values) noexcept;

/// pairwise_sum over the count, or NaN of nothing.
double mean(std::span<const double> values) noexcept;

/// Sum of values[i] * weights[i] over the sum of the weights; NaN when the weights sum to 0. Equal lengths.
double weighted_mean(std::span<const double> values, std::span<const double> weights);

}  // namespace weft::metrics
