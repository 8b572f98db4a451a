// SPDX-License-Identifier: Apache-2.0
// Where a text begins and ends.
#include "weft/generation/processors/ends.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/log_softmax.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::generation {
namespace {

void force(std::span<float> scores, const std::vector<std::int64_t>& ids) {
  std::fill(scores.begin(), scores.end(), kImpossible);
  for (const std::int64_t id : ids) {
    scores[static_cast<std::size_t>(id)] = 0.0F;
  }
}

}  // namespace

Processor ban_below(std::int64_t length, std::vector<std::int64_t> ends) {
  return [length, ends = std::move(ends)](const RowScores& row) {
    if (std::ssize(row.tokens) < length) {
      for (const std::int64_t id : ends) {
        row.scores[static_cast<std::size_t>(id)] = kImpossible;
      }
    }
  };
}

Processor force_at(std::int64_t length, std::vector<std::int64_t> ids) {
  return [length, ids = std::move(ids)](const RowScores& row) {
    if (std::ssize(row.tokens) == length) {
      force(row.scores, ids);
    }
  };
}

Processor force_last(std::vector<std::int64_t> ids) {
  return [ids = std::move(ids)](const RowScores& row) {
    if (std::ssize(row.tokens) == row.longest - 1) {
      force(row.scores, ids);
    }
  };
}

Processor raise_end(std::int64_t start, double factor, std::vector<std::int64_t> ends) {
  return [start, factor, ends = std::move(ends)](const RowScores& row) {
    const std::int64_t behind = std::ssize(row.tokens) - start;
    if (behind <= 0) {
      return;
    }
    const auto growth = static_cast<float>(std::pow(factor, static_cast<double>(behind)) - 1.0);
    for (const std::int64_t id : ends) {
      float& score = row.scores[static_cast<std::size_t>(id)];
      score += std::isfinite(score) ? std::abs(score) * growth : 0.0F;
    }
  };
}

Processor remove_invalid() {
  return [](const RowScores& row) {
    constexpr float kMost = std::numeric_limits<float>::max();
    for (float& score : row.scores) {
      score = std::isnan(score) ? 0.0F : std::clamp(score, -kMost, kMost);
    }
  };
}

Processor normalize() {
  return [](const RowScores& row) {
    // LibTorch's log-softmax is many times as fast as a loop over std::exp.
    const at::Tensor scores = at::from_blob(row.scores.data(), {std::ssize(row.scores)}, at::kFloat);
    const bool possible = *std::max_element(row.scores.begin(), row.scores.end()) != kImpossible;
    if (possible) {
      scores.copy_(at::log_softmax(scores, 0));
    }
  };
}

}  // namespace weft::generation
