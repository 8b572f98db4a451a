// SPDX-License-Identifier: Apache-2.0
// Two linear equations at a time.
#include "weft/cli/bench/rate_equations.h"

#include <algorithm>

namespace weft::cli {
namespace {

struct Equation {
  double first;
  double second;
  double sum;
};

struct Solution {
  double first;
  double second;
};

/// Both equations, unless that takes a negative number: then that one is zero, and the other one meets the equation
/// with more of it.
Solution solve(const Equation& a, const Equation& b) {
  const double determinant = a.first * b.second - a.second * b.first;
  const double first = (a.sum * b.second - a.second * b.sum) / determinant;
  const double second = (a.first * b.sum - a.sum * b.first) / determinant;
  if (first < 0) {
    const Equation& better = a.second > b.second ? a : b;
    return {0, better.sum / better.second};
  }
  if (second < 0) {
    const Equation& better = a.first > b.first ? a : b;
    return {better.sum / better.first, 0};
  }
  return {first, second};
}

}  // namespace

pattern::KernelRates kernel_rates(const TimedCalls& calls) {
  pattern::KernelRates rates;
  const auto row_equation = [](const TimedWork& call) {
    return Equation{call.work.query_blocks, call.work.full_keys, call.seconds};
  };
  const Solution full = solve(row_equation(calls.rows), row_equation(calls.full));
  rates.row_seconds = full.first;
  rates.key_seconds = full.second;
  const auto without_rows = [&](const TimedWork& call) {
    return std::max(0.0, call.seconds - call.work.query_blocks * rates.row_seconds);
  };
  const auto block_equation = [&](const TimedWork& call) {
    return Equation{call.work.partial_blocks, call.work.masked_keys, without_rows(call)};
  };
  const Solution masked = solve(block_equation(calls.narrow), block_equation(calls.masked));
  rates.masked_seconds = masked.first;
  rates.masked_key_seconds = masked.second;
  const double keys = calls.weighted.work.masked_keys * rates.masked_key_seconds;
  rates.weighted_seconds = std::max(0.0, without_rows(calls.weighted) - keys) / calls.weighted.work.weighted_blocks;
  const double scattered = without_rows(calls.scattered) - calls.scattered.work.full_keys * rates.key_seconds;
  rates.refill_seconds = std::max(0.0, scattered) / calls.refills;
  return rates;
}

pattern::DenseRates dense_rates(const DenseTimes& times) {
  const auto equation = [&](double length, double seconds) {
    return Equation{times.heads * length, times.heads * length * length, seconds};
  };
  const Solution found =
      solve(equation(times.short_length, times.short_seconds), equation(times.long_length, times.long_seconds));
  return {found.first, found.second};
}

}  // namespace weft::cli
