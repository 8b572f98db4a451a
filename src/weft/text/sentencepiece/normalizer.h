// SPDX-License-Identifier: Apache-2.0
// How SentencePiece prepares a text: characters replaced by the model's map, blanks put together and made visible.
#pragma once

#include <string>
#include <string_view>

#include "weft/text/sentencepiece/byte_trie.h"
#include "weft/text/sentencepiece/character_map.h"
#include "weft/text/sentencepiece/model.h"

namespace weft::text {

class SentencePieceNormalizer {
 public:
  /// `untouched` are strings that no rule changes, the model's user-defined pieces; it must outlive this.
  SentencePieceNormalizer(const NormalizerRules& rules, const ByteTrie& untouched);

  /// The prepared text. A byte that is part of no valid UTF-8 becomes U+FFFD. Errors: kArgument when the character map
  /// makes the text more than 32 times (and 64 KiB) larger.
  std::string operator()(std::string_view text) const;

 private:
  struct Step {
    std::string_view text;  // what is written
    std::size_t consumed;   // bytes of the input
  };
  Step step(std::string_view text) const;
  std::string_view without_first_blanks(std::string_view text) const;

  NormalizerRules rules_;
  CharacterMap map_;
  const ByteTrie& untouched_;
};

}  // namespace weft::text
