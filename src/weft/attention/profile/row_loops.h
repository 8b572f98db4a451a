// SPDX-License-Identifier: Apache-2.0
// Loops over the columns of a row of scores: each is one pass over numbers that lie side by side.
#pragma once

#include <cstdint>

namespace weft::attention {

/// What a row of scores is.
template <typename Number>
struct RowMeasure {
  Number largest;      ///< kNoEdge where there is no edge
  std::int32_t edges;  ///< scores above kLeastScore
  bool is_finite;      ///< no score is NaN or infinite
};

/// Number is float or double. Adds 1 to `edges` [columns] where a column has an edge.
template <typename Number>
RowMeasure<Number> measure_row(const Number* scores, std::int64_t columns, std::int32_t* edges);

/// Minus infinity becomes kNoEdge. NaN stays.
template <typename Number>
void raise_to_no_edge(Number* scores, std::int64_t columns);

/// Subtracts `largest` from each score.
template <typename Number>
void subtract(Number* scores, std::int64_t columns, Number largest);

/// The sum: of short runs in Number, of these in float64.
template <typename Number>
double sum_of_columns(const Number* numbers, std::int64_t columns);

/// Adds p = exponentials * share to `sums`, and keeps the largest p of each column in `largest`.
template <typename Number>
void add_probabilities(const Number* exponentials, std::int64_t columns, Number share, Number* sums, Number* largest);

/// The first column in [begin, columns) whose number is above `least`; `columns` where there is none.
template <typename Number>
std::int64_t next_above(const Number* numbers, std::int64_t begin, std::int64_t columns, Number least);

}  // namespace weft::attention
