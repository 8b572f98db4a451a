// SPDX-License-Identifier: Apache-2.0
// A row is a query of a text; those that have no edge count nowhere.
#include "weft/profile/profile_summary.h"

#include <cstdint>
#include <utility>

#include "weft/core/error.h"

namespace weft::profile {
namespace {

using formats::Json;

// Of the rows of all heads, in nats.
double mean_entropy(const MassSums& sums) {
  double entropy = 0.0;
  double rows = 0.0;
  for (std::int64_t head = 0; sums.queries() > 0 && head < sums.shape().heads; ++head) {
    entropy += static_cast<double>(sums.entropy[static_cast<std::size_t>(head)]) * kEntropyUnit;
    rows += static_cast<double>(sums.rows_of(head));
  }
  return rows > 0 ? entropy / rows : 0.0;
}

Json part_summary(const Part& part) {
  Json json = {{"name", part.site.name}, {"expression", part.site.expression}};
  if (!part.site.reason.empty()) {
    json["reason"] = part.site.reason;
  } else {
    json.update({{"queries", part.sums.queries()},
                 {"keys", part.sums.keys()},
                 {"rows", part.sums.queries() > 0 ? part.sums.rows_of(0) : 0},
                 {"entropy", mean_entropy(part.sums)},
                 {"edges", part.sums.queries() > 0 && part.sums.has_edges()}});
  }
  if (!part.site.note.empty()) {
    json["note"] = part.site.note;
  }
  return json;
}

}  // namespace

Json summary_json(const AttentionProfile& profile) {
  Json parts = Json::array();
  for (const Part& part : profile.parts) {
    parts.push_back(part_summary(part));
  }
  return {{"model", profile.model.kind},
          {"texts", profile.data.texts},
          {"tokens", profile.data.tokens},
          {"dtype", profile.model.dtype},
          {"shard", concat(profile.progress.shard, "/", profile.progress.shards)},
          {"parts", std::move(parts)}};
}

}  // namespace weft::profile
