// SPDX-License-Identifier: Apache-2.0
// Sums in float64, so that the mean of 16,384 tokens is as exact as that of one.
#include "weft/tasks/decode/pooling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::tasks {
namespace {

void add_rows(std::span<const float> rows, std::vector<double>& sum) {
  const std::size_t width = sum.size();
  for (std::size_t row = 0; row < rows.size(); row += width) {
    for (std::size_t column = 0; column < width; ++column) {
      sum[column] += static_cast<double>(rows[row + column]);
    }
  }
}

}  // namespace

Pooling parse_pooling(std::string_view name) {
  require(name == "mean" || name == "cls", "the pooling must be mean or cls, found ", quote(name));
  return name == "mean" ? Pooling::kMean : Pooling::kCls;
}

PooledPart pool_part(std::span<const float> hidden, std::int64_t width, Pooling pooling, std::int64_t begin,
                     std::int64_t end) {
  const auto columns = static_cast<std::size_t>(width);
  require(width >= 1 && !hidden.empty() && hidden.size() % columns == 0, "pooling needs rows of ", width,
          " numbers, found ", hidden.size(), " in all");
  const bool first = pooling == Pooling::kCls;
  const auto from = static_cast<std::size_t>(first ? 0 : begin);
  const auto rows = static_cast<std::size_t>(first ? 1 : end - begin);
  PooledPart part{std::vector<double>(columns, 0.0), static_cast<std::int64_t>(rows)};
  add_rows(hidden.subspan(from * columns, rows * columns), part.sum);
  return part;
}

std::vector<float> pool_parts(std::span<const PooledPart> parts, bool normalize) {
  std::vector<double> mean(parts.empty() ? 0 : parts.front().sum.size(), 0.0);
  std::int64_t rows = 0;
  for (const PooledPart& part : parts) {
    rows += part.rows;
    std::transform(mean.begin(), mean.end(), part.sum.begin(), mean.begin(), std::plus<>());
  }
  require(rows > 0, "pooling needs at least one row");
  double square = 0;
  for (double& value : mean) {
    value /= static_cast<double>(rows);
    square += value * value;
  }
  const double scale = normalize && square > 0 ? 1 / std::sqrt(square) : 1;
  std::vector<float> result;
  result.reserve(mean.size());
  for (const double value : mean) {
    result.push_back(static_cast<float>(value * scale));
  }
  return result;
}

std::vector<float> pool(std::span<const float> hidden, std::int64_t width, Pooling pooling, bool normalize) {
  const std::int64_t rows = width >= 1 ? static_cast<std::int64_t>(hidden.size()) / width : 0;
  const PooledPart part = pool_part(hidden, width, pooling, 0, rows);
  return pool_parts({&part, 1}, normalize);
}

}  // namespace weft::tasks
