// SPDX-License-Identifier: Apache-2.0
// Which tokens of a tokeniser end a sentence, for models that have a global token a sentence (etc).
#pragma once

#include <cstdint>
#include <vector>

#include "weft/text/hugging_face.h"

namespace weft::text {

/// Ids of the tokens that are full stops, question marks and exclamation marks and nothing else, and of the separator
/// of two texts. Warns where there is none: every text is one sentence then.
std::vector<std::int64_t> sentence_end_ids(const HuggingFaceTokenizer& tokenizer);

}  // namespace weft::text
