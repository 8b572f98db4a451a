// SPDX-License-Identifier: Apache-2.0
// Which tokens begin a word, told from the vocabulary alone.
#pragma once

#include <vector>

#include "weft/text/tokenizer.h"

namespace weft::text {

/// For each id whether it begins a word: its text behind another token begins with white space, or follows it.
std::vector<bool> word_beginnings(const Tokenizer& tokenizer);

}  // namespace weft::text
