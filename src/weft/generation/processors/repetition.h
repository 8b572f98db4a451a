// SPDX-License-Identifier: Apache-2.0
// Processors against repetition, and for or against what the source says.
#pragma once

#include <cstdint>

#include "weft/generation/processors/processor.h"

namespace weft::generation {

/// A token that the text holds is scored s / penalty where s is positive and s * penalty where it is negative (Keskar
/// et al. 2019), once however often it is there. The start token counts as part of the text.
Processor punish_repetition(double penalty);
/// A token of the source is scored s * penalty where s is positive and s / penalty where it is negative.
Processor repeat_source(double penalty);
/// The last `size` tokens of the text never equal `size` earlier ones.
Processor ban_repeated_ngrams(std::int64_t size);
/// The last `size` tokens of the text never equal `size` tokens of the source.
Processor ban_source_ngrams(std::int64_t size);

}  // namespace weft::generation
