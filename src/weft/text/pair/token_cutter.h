// SPDX-License-Identifier: Apache-2.0
// Special and added tokens cut out of a text before anything else looks at it, as the tokenisers of `transformers` that
// are written in Python do it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/text/hugging_face/settings.h"
#include "weft/text/sentencepiece/byte_trie.h"

namespace weft::text {

/// A token with its id.
struct NumberedToken {
  std::int64_t id = 0;
  AddedToken token;
};

/// A stretch of text, or a token that was written in it.
struct TextPart {
  std::string text;
  std::int64_t id = -1;  ///< of the token; -1 for a stretch of text
};

class TokenCutter {
 public:
  /// Different tokens; empty ones are never found.
  explicit TokenCutter(std::vector<NumberedToken> tokens);

  /// The parts of `text` in order, none empty. Where several tokens begin, the longest is meant; the tokens' flags
  /// strip white space beside them, and a `single_word` that has no blank beside it is text.
  std::vector<TextPart> operator()(std::string_view text) const;
  const std::vector<NumberedToken>& tokens() const noexcept { return tokens_; }

 private:
  struct Match {
    std::size_t length = 0;
    std::int32_t token = -1;
  };
  Match longest(std::string_view text) const;

  std::vector<NumberedToken> tokens_;
  ByteTrie trie_;
};

}  // namespace weft::text
