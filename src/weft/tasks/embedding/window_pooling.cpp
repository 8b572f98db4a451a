// SPDX-License-Identifier: Apache-2.0
// Each mode is a weight for each row, but for max.
#include "weft/tasks/embedding/window_pooling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "weft/core/error.h"

namespace weft::tasks {
namespace {

using checkpoint::PoolingMode;

std::span<const float> pooled_row(const WindowRows& rows, std::int64_t row) {
  const auto width = static_cast<std::size_t>(rows.width);
  return rows.hidden.subspan(static_cast<std::size_t>(row) * width, width);
}

bool is_of_one_row(PoolingMode mode) { return mode == PoolingMode::kCls || mode == PoolingMode::kLastToken; }

}  // namespace

void add_row(WindowPart& part, std::span<const float> row, PoolingMode mode, std::int64_t place) {
  if (part.values.empty() || mode == PoolingMode::kLastToken) {
    part.weight = 0.0;
    part.values.assign(row.size(), mode == PoolingMode::kMax ? -std::numeric_limits<double>::infinity() : 0.0);
  }
  if (mode == PoolingMode::kMax) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      part.values[column] = std::max(part.values[column], static_cast<double>(row[column]));
    }
    part.weight = 1.0;
    return;
  }
  if (mode == PoolingMode::kCls && part.weight > 0) {
    return;
  }
  const double weight = mode == PoolingMode::kWeightedMean ? static_cast<double>(place + 1) : 1.0;
  for (std::size_t column = 0; column < row.size(); ++column) {
    part.values[column] += weight * static_cast<double>(row[column]);
  }
  part.weight += weight;
}

WindowPart window_part(const WindowRows& rows, PoolingMode mode) {
  const auto width = static_cast<std::size_t>(rows.width);
  require(rows.width >= 1 && !rows.hidden.empty() && rows.hidden.size() % width == 0, "pooling needs rows of ",
          rows.width, " numbers, found ", rows.hidden.size(), " in all");
  const auto tokens = static_cast<std::int64_t>(rows.hidden.size() / width);
  WindowPart part;
  if (is_of_one_row(mode)) {
    const std::int64_t row = mode == PoolingMode::kCls ? rows.first : tokens - 1;
    if (row >= rows.first && row < tokens) {
      add_row(part, pooled_row(rows, row), mode, rows.place + row);
    }
    return part;
  }
  for (std::int64_t row = std::max(rows.begin, rows.first); row < rows.end; ++row) {
    add_row(part, pooled_row(rows, row), mode, rows.place + row);
  }
  return part;
}

std::vector<double> join_parts(std::span<const WindowPart> parts, PoolingMode mode) {
  WindowPart whole;
  for (const WindowPart& part : parts) {
    if (part.weight <= 0) {
      continue;
    }
    if (whole.values.empty()) {
      whole = part;
      continue;
    }
    whole.weight += part.weight;
    for (std::size_t column = 0; column < whole.values.size(); ++column) {
      const double other = part.values[column];
      whole.values[column] =
          mode == PoolingMode::kMax ? std::max(whole.values[column], other) : whole.values[column] + other;
    }
  }
  require(whole.weight > 0, "pooling needs at least one row that counts");
  const double divisor = mode == PoolingMode::kMax              ? 1.0
                         : mode == PoolingMode::kMeanSqrtLength ? std::sqrt(whole.weight)
                                                                : whole.weight;
  for (double& value : whole.values) {
    value /= divisor;
  }
  return whole.values;
}

}  // namespace weft::tasks
