// SPDX-License-Identifier: Apache-2.0
// Decoders that cannot go on behind what they computed: what each new token costs.
#pragma once

#include "weft/models/language_model.h"

namespace weft::generation {

/// Whether each new token takes a pass over the whole text, because a later token changes what layers gave earlier
/// ones.
bool computes_whole_texts(const models::LanguageModel& model);

}  // namespace weft::generation
