// SPDX-License-Identifier: Apache-2.0
// By the numbers of the texts that tokens came from.
#include "weft/text/pair_places.h"

#include <algorithm>
#include <iterator>

namespace weft::text {

PairPlaces pair_places(const Encoding& window) {
  const auto& texts = window.sequences;
  const std::int64_t count = std::ssize(texts);
  const std::int64_t behind_first = count - (std::find(texts.rbegin(), texts.rend(), 0) - texts.rbegin());
  const std::int64_t second = std::find(texts.begin(), texts.end(), 1) - texts.begin();
  const bool has_first = behind_first > 0;
  if (second < count) {
    return {has_first ? behind_first : std::min<std::int64_t>(second, 2) / 2, second};
  }
  // Special tokens behind a lone text are one; between and behind two texts they are more.
  constexpr std::int64_t kOfOneText = 2;  // before and behind it
  const bool is_pair = has_first ? count - behind_first >= kOfOneText : count > kOfOneText;
  return is_pair ? PairPlaces{has_first ? behind_first : 1, count - 1} : PairPlaces{};
}

}  // namespace weft::text
