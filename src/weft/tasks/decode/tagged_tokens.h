// SPDX-License-Identifier: Apache-2.0
// The tokens of a window with what a tagger says about them, as TokenClassificationPipeline.gather_pre_entities lists
// them: which token goes on the word before it, and what it is called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/tasks/decode/entities.h"
#include "weft/text/hugging_face.h"

namespace weft::tasks {

/// The tokens of `text` in one window. `logits` is [tokens, labels], row-major. Where the vocabulary marks tokens that
/// go on a word ("##"), such a token is longer than its text; where it does not, a word begins behind a blank. Errors:
/// kArgument where `logits` has another size; kNumeric where they are not finite.
std::vector<TaggedToken> tagged_tokens(const text::HuggingFaceTokenizer& tokenizer, std::string_view text,
                                       const text::Encoding& window, std::span<const float> logits);

/// The tokens of window `number` out of `count` that it alone answers for, as a range [begin, end) of `tokens`: of two
/// windows that share `stride` tokens, each keeps the half that is nearer to its middle.
std::pair<std::size_t, std::size_t> own_tokens(std::size_t tokens, std::size_t number, std::size_t count,
                                               std::size_t stride);

}  // namespace weft::tasks
