// SPDX-License-Identifier: Apache-2.0
// A document as stretches that a model translates one by one: its sentences, and parts of those that are too long.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "weft/text/sentences/sentences.h"

namespace weft::tasks {

/// Sentences of a text, in order; what is between them is white space.
using SplitText = std::function<std::vector<text::SentencePlace>(std::string_view text)>;
/// Whether a stretch is short enough for the model.
using FitsModel = std::function<bool(std::string_view text)>;

struct Segments {
  std::vector<text::SentencePlace> places;  ///< of stretches, in order, without white space at their ends
  std::vector<std::size_t> sentence;        ///< of each the number of the sentence that it is, or is a part of
};

/// The segments of `document`. Together with the white space between them they are the document: whatever `split`
/// leaves out and is no white space is a sentence of its own. A sentence that does not fit is divided at the blank
/// nearest to its middle (behind a comma or the like where one is near), or where there is no blank between two
/// characters, until all parts fit or are single characters. Errors: kArgument for sentences out of order.
Segments segments_of(std::string_view document, const SplitText& split, const FitsModel& fits);

}  // namespace weft::tasks
