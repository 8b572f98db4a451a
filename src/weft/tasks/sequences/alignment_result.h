// SPDX-License-Identifier: Apache-2.0
// An aligned pair as JSON, as `weft align` and the server give it.
#pragma once

#include <map>

#include "weft/formats/config_json.h"
#include "weft/tasks/sequences/align.h"

namespace weft::tasks {

/// Probabilities of links.
using LinkShares = std::map<metrics::AlignmentLink, double>;

/// {"alignment": "0-0 1-2", "source_words", "target_words", "links": [{"source", "target", "probability"}]} with the
/// links `found`; with `reverse`, the probabilities of the other direction, each link also has "reverse_probability". A
/// link that a direction does not have is null there.
formats::Json alignment_result(const AlignedPair& pair, const metrics::AlignmentLinks& found,
                               const LinkShares* reverse = nullptr);

}  // namespace weft::tasks
