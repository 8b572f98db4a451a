// SPDX-License-Identifier: Apache-2.0
// Processors for words by their ids: a bias (minus infinity: a ban), tokens that never come, tokens that alone may
// come.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/generation/processors/processor.h"

namespace weft::generation {

/// Adds a word's bias to the score of its last token where the tokens before it end the text; a word of one token
/// always counts. Biases of several words add up.
Processor bias_words(std::vector<BiasedWord> words);
/// These tokens never come; ids outside of the vocabulary change nothing.
Processor ban_tokens(std::vector<std::int64_t> ids);
/// The same for the token behind a text of `length` tokens.
Processor ban_tokens_at(std::int64_t length, std::vector<std::int64_t> ids);
/// All scores but those of `ids`, which are ids of the vocabulary, become minus infinity; where these are all minus
/// infinity they become 0.
void keep_only(std::span<float> scores, std::span<const std::int64_t> ids);
/// Only those that `allowed` gives may come. Where their scores are all minus infinity they become 0, so that one of
/// them comes. Errors: kArgument when it gives none, or an id outside of the vocabulary.
Processor allow_only(AllowedTokens allowed);

}  // namespace weft::generation
