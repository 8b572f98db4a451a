// SPDX-License-Identifier: Apache-2.0
// A kernel's call beside the same call in float64 by the plain kernel, and how far their results may be apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "kernels/kernel_case.h"

namespace weft::test {

/// The same numbers, as the case stores them, in float64.
template <typename From, typename To>
void copy_values(From& from, To& to) {
  const std::vector<double> values = from.values();
  std::size_t at = 0;
  to.visit([&](auto& entry) { entry = static_cast<std::remove_reference_t<decltype(entry)>>(values[at++]); });
}

template <typename Case>
Float64Case exact_case(Case& rounded) {
  Float64Case exact(rounded.shape, rounded.multiplicity, 0, kernels::DType::kFloat64);
  exact.scale = rounded.scale;
  exact.keep = rounded.keep;
  exact.dropout = rounded.dropout;
  exact.slopes = rounded.slopes;
  exact.distances.assign(rounded.distances.begin(), rounded.distances.end());
  exact.distance_rows = rounded.distance_rows;
  exact.distance_zero = rounded.distance_zero;
  exact.asks_distance_gradient = rounded.asks_distance_gradient;
  exact.query_offset = rounded.query_offset;
  exact.relative_span = rounded.relative_span;
  exact.relative_zero = rounded.relative_zero;
  for (const auto& entry : rounded.relative_rows) {
    exact.relative_rows.push_back(static_cast<double>(std::decay_t<decltype(rounded)>::Array::load(entry)));
  }
  copy_values(rounded.relative_query, exact.relative_query);
  exact.query_positions = rounded.query_positions;
  exact.key_positions = rounded.key_positions;
  exact.first_positions = rounded.first_positions;
  exact.causal = rounded.causal;
  exact.not_self = rounded.not_self;
  copy_values(rounded.query, exact.query);
  copy_values(rounded.key, exact.key);
  copy_values(rounded.value, exact.value);
  copy_values(rounded.output_gradient, exact.output_gradient);
  return exact;
}

inline double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) {
    result = std::max(result, std::abs(value));
  }
  return result;
}

inline void expect_near(const std::vector<double>& found, const std::vector<double>& expected, double bound) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t at = 0; at < found.size(); ++at) {
    ASSERT_NEAR(found[at], expected[at], bound) << at;
  }
}

template <typename Array, typename Exact>
void expect_close(Array& found, Exact& expected, double relative, double absolute) {
  const std::vector<double> right = expected.values();
  expect_near(found.values(), right, relative * largest(right) + absolute);
}

template <typename Case>
void expect_log_sum_exp(const Case& found, const Float64Case& expected, double tolerance) {
  for (std::size_t at = 0; at < expected.log_sum_exp.size(); ++at) {
    if (std::isinf(expected.log_sum_exp[at])) {
      ASSERT_EQ(static_cast<double>(found.log_sum_exp[at]), expected.log_sum_exp[at]) << at;
    } else {
      const double ulp = 1e-7 * std::abs(expected.log_sum_exp[at]);  // of a row that sees its own position alone
      ASSERT_NEAR(found.log_sum_exp[at], expected.log_sum_exp[at], tolerance + ulp) << at;
    }
  }
}

struct Bounds {
  double forward;   ///< of outputs, beside one part in as many of the largest
  double gradient;  ///< of gradients, as a share of the largest one
};

/// The gradients of `fused` against those of `exact`, which has run backward() on the outputs of `fused`.
template <typename Case>
void expect_gradients(Case& fused, Float64Case& exact, double relative) {
  // Where no row has two edges, those of queries and keys are zero: what is left of two equal sums is as small beside
  // the gradient of the values.
  const double values = largest(exact.value_gradient.values());
  const auto expect = [&](const std::vector<double>& found, const std::vector<double>& expected, double more = 1) {
    const double own = largest(expected);
    expect_near(found, expected, more * relative * (own > 1e-3 * values ? own : values) + 1e-7);
  };
  expect(fused.query_gradient.values(), exact.query_gradient.values());
  expect(fused.key_gradient.values(), exact.key_gradient.values());
  expect(fused.value_gradient.values(), exact.value_gradient.values());
  if (!exact.relative_rows_gradient.empty()) {
    // Of a row whose keys all lie beyond one end of R they are zero: terms as great as those of dQ that cancel. So they
    // are where each row has one edge: what is left of two equal sums of dO and V.
    const double terms = std::max(largest(exact.query_gradient.values()), largest(exact.key_gradient.values()));
    const auto expect_sums = [&](const std::vector<double>& found, const std::vector<double>& expected, double more) {
      expect_near(found, expected, more * relative * std::max({largest(expected), terms, 0.1 * values}) + 1e-7);
    };
    expect_sums(fused.relative_query_gradient.values(), exact.relative_query_gradient.values(), 1);
    const std::vector<double> rows(exact.relative_rows_gradient.begin(), exact.relative_rows_gradient.end());
    expect_sums({fused.relative_rows_gradient.begin(), fused.relative_rows_gradient.end()}, rows, 4);
  }
  // The entry at an end may be that of nearly all pairs: a thousand times the terms of a query or key, in both signs.
  const std::vector<double> distances(exact.distance_gradient.begin(), exact.distance_gradient.end());
  expect({fused.distance_gradient.begin(), fused.distance_gradient.end()}, distances, 4);
}

template <typename Case>
void expect_agreement(Case& fused, const Bounds& bounds, const ParallelFor& parallel = kSerial) {
  Float64Case exact = exact_case(fused);
  exact.forward();
  fused.forward(parallel);
  expect_close(fused.output, exact.output, bounds.forward, bounds.forward);
  expect_log_sum_exp(fused, exact, 2e-6 + bounds.forward);
  copy_values(fused.output, exact.output);  // the backward pass is given what the forward pass rounded
  exact.backward();
  fused.backward(parallel);
  expect_gradients(fused, exact, bounds.gradient);
}

}  // namespace weft::test
