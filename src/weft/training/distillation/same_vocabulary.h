// SPDX-License-Identifier: Apache-2.0
// Whether two tokenisers make the same ids of a text: scores over the ids can be compared only then.
#pragma once

#include <optional>
#include <string>

#include "weft/text/tokenizer.h"

namespace weft::training {

/// Where `found` differs from `expected`, in words ("token 7 is \"a\", expected \"b\""); nothing where all ids, the
/// rules that make them and the special tokens are the same.
std::optional<std::string> vocabulary_difference(const text::Tokenizer& expected, const text::Tokenizer& found);

}  // namespace weft::training
