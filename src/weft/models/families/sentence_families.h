// SPDX-License-Identifier: Apache-2.0
// Which families have a companion for each sentence of a text, for messages about settings that need some.
#pragma once

#include <string>

namespace weft::models {

/// "etc": the names of those whose rules say what the sentences of a text are (EncoderRules::structure).
std::string families_with_sentences();

}  // namespace weft::models
