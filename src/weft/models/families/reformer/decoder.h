// SPDX-License-Identifier: Apache-2.0
// A Reformer with a head over a vocabulary.
#pragma once

#include "weft/models/families/causal_rules.h"

namespace weft::models {

const CausalRules& reformer_causal_rules();

}  // namespace weft::models
