// SPDX-License-Identifier: Apache-2.0
// One alignment out of two: a model aligns each target word with a source word, a model of the other direction each
// source word with a target word (Och and Ney 2003; Koehn, Och and Marcu 2003, section 4.5).
#pragma once

#include <array>
#include <string_view>

#include "weft/metrics/translation/alignment_error.h"

namespace weft::metrics {

/// The ways, by their usual names.
inline constexpr std::array<std::string_view, 5> kSymmetrizations = {"intersect", "union", "grow-diag",
                                                                     "grow-diag-final", "grow-diag-final-and"};

/// Both sets hold links of a source and a target word. `grow-diag` begins with the intersection and adds links of the
/// union beside a link that it has, diagonals too, where one of the two words has none yet, until nothing changes;
/// target words in order, for each the source words in order. `final` then adds links where one of the two words has
/// none, `final-and` links where both have none: first those of `forward`, then those of `backward`. Errors: kArgument
/// for another name.
AlignmentLinks symmetrized(const AlignmentLinks& forward, const AlignmentLinks& backward, std::string_view way);

}  // namespace weft::metrics
