// SPDX-License-Identifier: Apache-2.0
// How much of a corpus the tokeniser does not know.
#pragma once

#include <string>

#include "weft/data/token_source.h"

namespace weft::data {

/// Warns on stderr when half of the tokens of a corpus or more are the unknown one, with the share. A corpus of more
/// than a million tokens is looked at in 256 places. `where` names the tokeniser, `what` the tokens: "of the text".
void warn_of_unknown_tokens(const TokenSource& source, const text::Tokenizer& tokenizer, const std::string& where,
                            const std::string& what);

}  // namespace weft::data
