// SPDX-License-Identifier: Apache-2.0
// Texts that end a text where they come.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/text/tokenizer.h"

namespace weft::generation {

/// Whether new tokens end a text (SearchRequest::stops).
using StopRule = std::function<bool(std::span<const std::int64_t> made)>;

/// Whether new tokens hold one of these texts; nothing where there are none. `tokenizer` outlives it.
StopRule stop_strings(const text::Tokenizer& tokenizer, const std::vector<std::string>& texts);

}  // namespace weft::generation
