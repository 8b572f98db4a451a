// SPDX-License-Identifier: Apache-2.0
// Profiles of attention that is known exactly: each edge of a pattern has a weight, and a row is its weights over their
// sum.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "weft/pattern/pattern.h"
#include "weft/profile/attention_profile.h"

namespace weft::test {

struct AttentionShape {
  std::int64_t heads = 1;
  std::int64_t length = 256;  ///< queries
  std::int64_t keys = 0;      ///< 0: as many
  std::int64_t edge_limit = 1024;
};

/// Of the edge from key + distance to key.
using WeightOf = std::function<double(std::int64_t head, std::int64_t distance, std::int64_t key)>;

/// A layer that attends by `expression`, one text.
inline profile::Part attention_like(const std::string& expression, const AttentionShape& shape,
                                    const WeightOf& weight) {
  const std::int64_t queries = shape.length;
  const std::int64_t keys = shape.keys > 0 ? shape.keys : queries;
  const auto pattern = pattern::Pattern::parse(expression);
  profile::Part part;
  part.site.name = "layers.0.self";
  part.site.causal = expression.starts_with("causal");
  part.site.heads = shape.heads;
  part.site.head_dim = 64;
  part.site.expression = pattern.to_string();
  part.sums = profile::MassSums({shape.heads, 64, shape.edge_limit});
  part.sums.grow(queries, keys);
  profile::MassSums& sums = part.sums;
  const auto add = [](std::vector<std::int64_t>& numbers, std::int64_t place, std::int64_t amount) {
    numbers.at(static_cast<std::size_t>(place)) += amount;
  };
  std::vector<double> row(static_cast<std::size_t>(keys));
  pattern::Site site{.query_length = queries, .key_length = keys, .heads = shape.heads};
  for (site.head = 0; site.head < shape.heads; ++site.head) {
    for (std::int64_t query = 0; query < queries; ++query) {
      for (std::int64_t key = 0; key < keys; ++key) {
        const bool is_edge = pattern.multiplicity(site, query, key) > 0;
        row[static_cast<std::size_t>(key)] = is_edge ? weight(site.head, query - key, key) : 0;
      }
      const double whole = std::accumulate(row.begin(), row.end(), 0.0);
      add(sums.rows, site.head * queries + query, 1);
      for (std::int64_t key = 0; key < keys; ++key) {
        const auto amount = static_cast<std::int64_t>(row[static_cast<std::size_t>(key)] / whole / profile::kMassUnit);
        add(sums.key, site.head * keys + key, amount);
        add(sums.distance, site.head * sums.distances() + query - key + keys - 1, amount);
        if (sums.has_edges()) {
          add(sums.edge, (site.head * queries + query) * keys + key, amount);
        }
      }
    }
  }
  return part;
}

inline profile::AttentionProfile profile_with(std::vector<profile::Part> parts) {
  profile::AttentionProfile profile;
  profile.progress.complete = true;
  profile.parts = std::move(parts);
  return profile;
}

}  // namespace weft::test
