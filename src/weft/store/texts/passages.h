// SPDX-License-Identifier: Apache-2.0
// Long texts as passages: a search finds the place, and a model reads no more than it takes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/text/sentences/sentences.h"

namespace weft::store {

/// Places of passages in `text`, in order, without blanks at either side: as many whole sentences as have at most
/// `length` characters (code points) with what lies between them. A longer sentence is cut behind the last blank that
/// fits, else within a word. All that is no blank is in one passage. With a length of 0 the text is one passage. A text
/// of blanks has none.
std::vector<text::SentencePlace> cut_passages(std::string_view text, std::int64_t length);

}  // namespace weft::store
