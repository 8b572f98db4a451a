// SPDX-License-Identifier: Apache-2.0
// The character map of a SentencePiece model (`precompiled_charsmap`): which strings are replaced by which, as a
// double array of Darts-clone and the texts behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::text {

/// Longest text that a character map may put in place of another, in bytes; Unicode's own rules need 33.
inline constexpr std::size_t kLongestReplacement = 1024;

/// Longest text that is looked up in a character map, in bytes: a map may lead in circles.
inline constexpr std::size_t kLongestReplaced = 1024;

/// Checks that every walk through the map stays within it. Errors: kFormat naming `where` and the rule.
void check_character_map(std::string_view map, std::string_view where);

class CharacterMap {
 public:
  /// No replacements.
  CharacterMap() = default;
  /// `map` has passed check_character_map; it is copied. Empty: no replacements.
  explicit CharacterMap(std::string_view map);

  struct Replacement {
    std::size_t replaced;  ///< bytes of the given text
    std::string_view by;   ///< lives as long as the map
  };
  /// The replacement of the longest string of at most kLongestReplaced bytes that `text` begins with, or nothing.
  std::optional<Replacement> find(std::string_view text) const;

 private:
  std::string trie_;
  std::string texts_;
};

}  // namespace weft::text
