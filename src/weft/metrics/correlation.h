// SPDX-License-Identifier: Apache-2.0
// How far two columns of numbers rise and fall together: Pearson's and Spearman's correlation, as scipy.stats has them.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace weft::metrics {

/// Pearson's r. Nothing where it is undefined: fewer than two values, or a column that is constant.
/// Errors: kArgument for columns of different lengths or with a value that is not finite; so below.
std::optional<double> pearson(std::span<const double> first, std::span<const double> second);

/// Pearson's r of the ranks; equal values share the mean of their ranks.
std::optional<double> spearman(std::span<const double> first, std::span<const double> second);

/// Ranks from 1; equal values share the mean of theirs.
std::vector<double> average_ranks(std::span<const double> values);

}  // namespace weft::metrics
