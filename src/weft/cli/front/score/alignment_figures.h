// SPDX-License-Identifier: Apache-2.0
// The figures of alignments, as `weft score aer` and `weft align --gold` print them.
#pragma once

#include "weft/metrics/translation/alignment_error.h"

namespace weft::cli {

/// A table of AER, precision and recall, or with `json` one object. Errors: kArgument where no link was found and none
/// is sure.
void print_alignment_figures(const metrics::AlignmentScorer& scorer, bool json);

}  // namespace weft::cli
