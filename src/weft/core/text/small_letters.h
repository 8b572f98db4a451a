// SPDX-License-Identifier: Apache-2.0
// Names as people write them, in whatever capitals: endings of files, columns, names that a flag was meant to be.
#pragma once

#include <algorithm>
#include <string>

namespace weft {

/// `text` with small letters for the capitals of ASCII; other letters stay, whatever the locale.
inline std::string small_letters(std::string text) {
  std::ranges::transform(text, text.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return text;
}

}  // namespace weft
