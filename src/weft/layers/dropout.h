// SPDX-License-Identifier: Apache-2.0
// Dropout of a layer's rows: the mask is a pure function of a seed, and each use of dropout has another seed.
#pragma once

#include <cstdint>

#include "weft/attention/seeded_dropout.h"

namespace weft::layers {

using attention::seeded_dropout;

/// An independent seed for one use of dropout: `site` numbers the uses within a layer from 1; 0 is the attention
/// mechanism's.
DropoutSeed dropout_seed(const DropoutSeed& call_seed, std::int64_t layer, std::int64_t site);

}  // namespace weft::layers
