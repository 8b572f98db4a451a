// SPDX-License-Identifier: Apache-2.0
// Sums are taken in long double around the means, so that what is left is the rounding of the result.
#include "weft/metrics/correlation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/core/error.h"

namespace weft::metrics {
namespace {

void check_columns(std::span<const double> first, std::span<const double> second) {
  require(first.size() == second.size(), "a correlation needs columns of one length, found ", first.size(), " and ",
          second.size());
  const auto finite = [](double value) { return std::isfinite(value); };
  require(std::all_of(first.begin(), first.end(), finite) && std::all_of(second.begin(), second.end(), finite),
          "a correlation needs finite numbers, found one that is not");
}

long double exact_mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0L) / static_cast<long double>(values.size());
}

bool constant(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [&](double value) { return value == values.front(); });
}

}  // namespace

std::optional<double> pearson(std::span<const double> first, std::span<const double> second) {
  check_columns(first, second);
  if (first.size() < 2 || constant(first) || constant(second)) {
    return std::nullopt;
  }
  const long double first_mean = exact_mean(first);
  const long double second_mean = exact_mean(second);
  long double both = 0.0L;
  long double first_squares = 0.0L;
  long double second_squares = 0.0L;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const long double x = static_cast<long double>(first[i]) - first_mean;
    const long double y = static_cast<long double>(second[i]) - second_mean;
    both += x * y;
    first_squares += x * x;
    second_squares += y * y;
  }
  // Two roots and no product of squares, which could leave the range.
  const auto r = static_cast<double>(both / std::sqrt(first_squares) / std::sqrt(second_squares));
  return std::clamp(r, -1.0, 1.0);
}

std::vector<double> average_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) {
      ++end;
    }
    // Ranks begin + 1 to end, all alike.
    for (std::size_t place = begin; place < end; ++place) {
      ranks[order[place]] = 0.5 * static_cast<double>(begin + 1 + end);
    }
    begin = end;
  }
  return ranks;
}

std::optional<double> spearman(std::span<const double> first, std::span<const double> second) {
  check_columns(first, second);
  return pearson(average_ranks(first), average_ranks(second));
}

}  // namespace weft::metrics
