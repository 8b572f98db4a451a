// SPDX-License-Identifier: Apache-2.0
// Where the attention of one layer goes in a call: its probabilities, computed once more beside the output, as sums.
#pragma once

#include "weft/attention/profile/tile_scores.h"
#include "weft/profile/mass_sums.h"

namespace weft::attention {

/// Adds the probabilities of a call to the sums of its layer, which grow to its lengths. Float32 scores (float64 for
/// float64), sums in float64 over a row of the batch and a head, which are then rounded to units: nothing depends on
/// the threads. Memory is linear in the length of the keys: a tile of queries at a time. Errors: kArgument where the
/// call does not fit its layout or the heads, or there are too many rows; kNumeric where a score is NaN or infinite:
/// the sums are not to be used then.
void add_mass(profile::MassSums& sums, const MassCall& call);

}  // namespace weft::attention
