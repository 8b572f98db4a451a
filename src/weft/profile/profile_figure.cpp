// SPDX-License-Identifier: Apache-2.0
// Sums divided by the rows that they are of.
#include "weft/profile/profile_figure.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "weft/core/error.h"

namespace weft::profile {
namespace {

// The mean probability of a pair in each square of `tile` positions, of one head.
inspect::HeatPanel panel_of_sums(const MassSums& sums, std::int64_t head) {
  const bool edges = sums.has_edges();
  const std::int64_t tile = edges ? 1 : sums.shape().tile;
  inspect::HeatPanel panel{.name = concat("head ", head),
                           .rows = edges ? sums.queries() : sums.query_tiles(),
                           .columns = edges ? sums.keys() : sums.key_tiles()};
  const std::vector<std::int64_t>& masses = edges ? sums.edge : sums.tile;
  const std::int64_t* mass = masses.data() + head * panel.rows * panel.columns;
  for (std::int64_t row = 0; row < panel.rows; ++row) {
    std::int64_t queries = 0;
    for (std::int64_t query = row * tile; query < std::min((row + 1) * tile, sums.queries()); ++query) {
      queries += sums.rows[static_cast<std::size_t>(head * sums.queries() + query)];
    }
    for (std::int64_t column = 0; column < panel.columns; ++column) {
      const std::int64_t pairs = queries * (std::min((column + 1) * tile, sums.keys()) - column * tile);
      const double mean = pairs > 0 ? static_cast<double>(*mass) * kMassUnit / static_cast<double>(pairs) : 0;
      panel.values.push_back(static_cast<float>(mean));
      ++mass;
    }
  }
  return panel;
}

}  // namespace

inspect::HeatFigure profile_figure(const AttentionProfile& profile) {
  inspect::HeatFigure figure;
  figure.title = concat("Mean attention of ", profile.model.path);
  figure.notes = {concat(profile.data.texts, " texts, ", profile.data.tokens,
                         " tokens. Queries from top to bottom, keys from left to right.")};
  for (const Part& part : profile.parts) {
    if (part.sums.queries() == 0) {
      continue;
    }
    inspect::HeatLine line{
        concat(part.site.name, "   ", part.site.expression,
               part.sums.has_edges() ? std::string() : concat(", in tiles of ", part.sums.shape().tile, " tokens")),
        {}};
    for (std::int64_t head = 0; head < part.sums.shape().heads; ++head) {
      line.panels.push_back(panel_of_sums(part.sums, head));
    }
    figure.lines.push_back(std::move(line));
  }
  return figure;
}

}  // namespace weft::profile
