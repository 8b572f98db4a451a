// SPDX-License-Identifier: Apache-2.0
// How a vocabulary is cut into clusters, the frequent ids first.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft::layers {

/// Cluster i has the ids from cutoffs[i - 1] (0 for the first) up to cutoffs[i] (vocab_size for the last), and
/// embeddings of hidden_size / division^i columns (Baevski and Auli 2019, section 3).
struct AdaptiveConfig {
  std::int64_t vocab_size = 256;
  std::int64_t hidden_size = 256;
  std::vector<std::int64_t> cutoffs = {};
  std::int64_t division = 1;

  std::int64_t clusters() const { return static_cast<std::int64_t>(cutoffs.size()) + 1; }
  /// First ids of all clusters, and vocab_size.
  std::vector<std::int64_t> bounds() const;
  /// hidden_size / division^cluster, rounded down each time; 0 where nothing is left.
  std::int64_t columns(std::int64_t cluster) const;
};

/// Errors: kArgument naming `where` unless cutoffs ascend between 1 and vocab_size - 1, 64 of them at most, and the
/// last cluster has a column.
void check_clusters(const AdaptiveConfig& config, std::string_view where);

}  // namespace weft::layers
