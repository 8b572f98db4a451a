// SPDX-License-Identifier: Apache-2.0
// Sums in float64, so that the mean of 16,384 tokens is as exact as that of one.
#include "weft/tasks/decode/pooling.h"

#include <cmath>
#include <cstddef>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::tasks {
namespace {

std::vector<double> mean_of_rows(std::span<const float> hidden, std::size_t width) {
  std::vector<double> sums(width, 0.0);
  for (std::size_t row = 0; row < hidden.size(); row += width) {
    for (std::size_t column = 0; column < width; ++column) {
      sums[column] += static_cast<double>(hidden[row + column]);
    }
  }
  const std::size_t rows = hidden.size() / width;
  for (double& sum : sums) {
    sum /= static_cast<double>(rows);
  }
  return sums;
}

}  // namespace

Pooling parse_pooling(std::string_view name) {
  require(name == "mean" || name == "cls", "the pooling must be mean or cls, found ", quote(name));
  return name == "mean" ? Pooling::kMean : Pooling::kCls;
}

std::vector<float> pool(std::span<const float> hidden, std::int64_t width, Pooling pooling, bool normalize) {
  const auto columns = static_cast<std::size_t>(width);
  require(width >= 1 && !hidden.empty() && hidden.size() % columns == 0, "pooling needs rows of ", width,
          " numbers, found ", hidden.size(), " in all");
  const std::vector<double> exact = pooling == Pooling::kMean
                                        ? mean_of_rows(hidden, columns)
                                        : std::vector<double>(hidden.begin(), hidden.begin() + width);
  double square = 0;
  for (const double value : exact) {
    square += value * value;
  }
  const double scale = normalize && square > 0 ? 1 / std::sqrt(square) : 1;
  std::vector<float> result;
  result.reserve(columns);
  for (const double value : exact) {
    result.push_back(static_cast<float>(value * scale));
  }
  return result;
}

}  // namespace weft::tasks
