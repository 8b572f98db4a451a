// SPDX-License-Identifier: Apache-2.0
// Sixteen lanes side by side where a loop has one result: a single one would wait for itself at each column. This file
// is compiled with -O3, which makes vectors of the loops.
#include "weft/attention/profile/row_loops.h"

#include <algorithm>

#include "weft/attention/profile/score_limits.h"

namespace weft::attention {
namespace {

constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kRun = 256;  // columns that are summed in Number

template <typename Number>
Number larger(Number one, Number other) {
  return one > other ? one : other;
}

}  // namespace

template <typename Number>
RowMeasure<Number> measure_row(const Number* scores, std::int64_t columns, std::int32_t* edges) {
  Number largest[kLanes];
  Number poison[kLanes] = {};  // 0 times a number is 0, of NaN or infinity it is NaN
  std::fill(largest, largest + kLanes, static_cast<Number>(kNoEdge));
  std::int64_t column = 0;
  for (; column + kLanes <= columns; column += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const Number score = scores[column + lane];
      largest[lane] = larger(score, largest[lane]);
      poison[lane] += score * Number{0};
    }
  }
  for (; column < columns; ++column) {
    largest[0] = larger(scores[column], largest[0]);
    poison[0] += scores[column] * Number{0};
  }
  std::int32_t count = 0;
  for (column = 0; column < columns; ++column) {
    const std::int32_t edge = scores[column] > static_cast<Number>(kLeastScore) ? 1 : 0;
    edges[column] += edge;
    count += edge;
  }
  bool is_finite = true;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    largest[0] = larger(largest[lane], largest[0]);
    is_finite = is_finite && poison[lane] == Number{0};
  }
  return {largest[0], count, is_finite};
}

template <typename Number>
void raise_to_no_edge(Number* scores, std::int64_t columns) {
  for (std::int64_t column = 0; column < columns; ++column) {
    const Number score = scores[column];
    scores[column] = score < static_cast<Number>(kNoEdge) ? static_cast<Number>(kNoEdge) : score;
  }
}

template <typename Number>
void subtract(Number* scores, std::int64_t columns, Number largest) {
  for (std::int64_t column = 0; column < columns; ++column) {
    scores[column] -= largest;
  }
}

template <typename Number>
double sum_of_columns(const Number* numbers, std::int64_t columns) {
  double sum = 0.0;
  for (std::int64_t begin = 0; begin < columns; begin += kRun) {
    const std::int64_t end = std::min(columns, begin + kRun);
    Number lanes[kLanes] = {};
    std::int64_t column = begin;
    for (; column + kLanes <= end; column += kLanes) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] += numbers[column + lane];
      }
    }
    for (; column < end; ++column) {
      lanes[0] += numbers[column];
    }
    for (const Number lane : lanes) {
      sum += static_cast<double>(lane);
    }
  }
  return sum;
}

template <typename Number>
void add_probabilities(const Number* exponentials, std::int64_t columns, Number share, Number* __restrict sums,
                       Number* __restrict largest) {
  for (std::int64_t column = 0; column < columns; ++column) {
    const Number p = exponentials[column] * share;
    sums[column] += p;
    largest[column] = larger(p, largest[column]);
  }
}

template <typename Number>
std::int64_t next_above(const Number* numbers, std::int64_t begin, std::int64_t columns, Number least) {
  std::int64_t column = begin;
  // Whole runs of lanes are passed over.
  for (; column + kLanes <= columns; column += kLanes) {
    int above = 0;
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      above += numbers[column + lane] > least ? 1 : 0;
    }
    if (above > 0) {
      break;
    }
  }
  while (column < columns && !(numbers[column] > least)) {
    ++column;
  }
  return column;
}

template RowMeasure<float> measure_row(const float*, std::int64_t, std::int32_t*);
template RowMeasure<double> measure_row(const double*, std::int64_t, std::int32_t*);
template void raise_to_no_edge(float*, std::int64_t);
template void raise_to_no_edge(double*, std::int64_t);
template void subtract(float*, std::int64_t, float);
template void subtract(double*, std::int64_t, double);
template double sum_of_columns(const float*, std::int64_t);
template double sum_of_columns(const double*, std::int64_t);
template void add_probabilities(const float*, std::int64_t, float, float*, float*);
template void add_probabilities(const double*, std::int64_t, double, double*, double*);
template std::int64_t next_above(const float*, std::int64_t, std::int64_t, float);
template std::int64_t next_above(const double*, std::int64_t, std::int64_t, double);

}  // namespace weft::attention
