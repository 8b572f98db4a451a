// SPDX-License-Identifier: Apache-2.0
// The longest common subsequence of two texts, 64 columns of its table at a time (Hyyrö 2004).
#pragma once

#include <cstdint>
#include <vector>

#include "weft/metrics/translation/gram_counts.h"

namespace weft::metrics {

/// Symbols that both texts have in the same order, at most so many. Memory follows one text, time the product over 64.
std::int64_t common_subsequence_length(const Symbols& rows, const Symbols& columns);

/// Places in `rows` of one such subsequence, ascending: the one that rouge_score reads from its table, which goes left
/// only where that is strictly better. Errors: kArgument where the table would take more than 1 GiB.
std::vector<std::size_t> common_subsequence(const Symbols& rows, const Symbols& columns);

}  // namespace weft::metrics
