// SPDX-License-Identifier: Apache-2.0
// Processors for where a text begins and ends, and for scores that are no numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/generation/processors/processor.h"

namespace weft::generation {

/// `ends` do not come while the text has fewer than `length` tokens.
Processor ban_below(std::int64_t length, std::vector<std::int64_t> ends);
/// Behind a text of `length` tokens, one of `ids` comes, with score 0.
Processor force_at(std::int64_t length, std::vector<std::int64_t> ids);
/// The last token of the longest text is one of `ids`, with score 0.
Processor force_last(std::vector<std::int64_t> ids);
/// In a text of more than `start` tokens, by n, the score s of each of `ends` grows by |s| (factor^n - 1).
Processor raise_end(std::int64_t start, double factor, std::vector<std::int64_t> ends);
/// NaN becomes 0, infinity the largest float, minus infinity the lowest one.
Processor remove_invalid();
/// Log-softmax.
Processor normalize();

}  // namespace weft::generation
