// SPDX-License-Identifier: Apache-2.0
// Bounds and widths of clusters, and what they must be.
#include "weft/layers/adaptive/config.h"

#include <algorithm>
#include <functional>

#include "weft/core/error.h"

namespace weft::layers {
namespace {

constexpr std::size_t kMostCutoffs = 64;

}  // namespace

std::vector<std::int64_t> AdaptiveConfig::bounds() const {
  std::vector<std::int64_t> bounds = {0};
  bounds.insert(bounds.end(), cutoffs.begin(), cutoffs.end());
  bounds.push_back(vocab_size);
  return bounds;
}

std::int64_t AdaptiveConfig::columns(std::int64_t cluster) const {
  std::int64_t left = hidden_size;
  for (std::int64_t i = 0; i < cluster && left > 0; ++i) {
    left /= division;
  }
  return left;
}

void check_clusters(const AdaptiveConfig& config, std::string_view where) {
  require(config.cutoffs.size() <= kMostCutoffs, where, ": vocabulary_cutoffs must be at most ", kMostCutoffs,
          " ids, found ", config.cutoffs.size());
  const std::vector<std::int64_t> bounds = config.bounds();
  const auto wrong = std::adjacent_find(bounds.begin(), bounds.end(), std::greater_equal<>());
  if (wrong != bounds.end()) {
    const bool last = wrong + 2 == bounds.end();
    fail(ErrorKind::kArgument, where, ": vocabulary_cutoffs must ascend between 0 and vocab_size = ", config.vocab_size,
         ", found ", last ? *wrong : wrong[1], last ? "" : concat(" behind ", *wrong));
  }
  require(config.columns(config.clusters() - 1) > 0, where, ": hidden_size ", config.hidden_size,
          " divided by vocabulary_division ", config.division, " for each of ", config.cutoffs.size(),
          " vocabulary_cutoffs leaves no column");
}

}  // namespace weft::layers
