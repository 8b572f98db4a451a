// SPDX-License-Identifier: Apache-2.0
// Links in the order of the source's words.
#include "weft/tasks/sequences/alignment_result.h"

#include <utility>

namespace weft::tasks {
namespace {

formats::Json share_of(const LinkShares& shares, const metrics::AlignmentLink& link) {
  const auto place = shares.find(link);
  return place == shares.end() ? formats::Json(nullptr) : formats::Json(place->second);
}

}  // namespace

formats::Json alignment_result(const AlignedPair& pair, const metrics::AlignmentLinks& found,
                               const LinkShares* reverse) {
  formats::Json links = formats::Json::array();
  for (const metrics::AlignmentLink& link : found) {
    formats::Json entry = {
        {"source", link.first}, {"target", link.second}, {"probability", share_of(pair.links, link)}};
    if (reverse != nullptr) {
      entry["reverse_probability"] = share_of(*reverse, link);
    }
    links.push_back(std::move(entry));
  }
  return {{"alignment", metrics::pharaoh_text(found)},
          {"source_words", pair.source_words},
          {"target_words", pair.target_words},
          {"links", std::move(links)}};
}

}  // namespace weft::tasks
