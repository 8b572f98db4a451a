// SPDX-License-Identifier: Apache-2.0
// Text from elsewhere made fit for a one-line message, and edit distance for suggestions.
#include "weft/core/quote.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "weft/core/joined.h"
#include "weft/core/number.h"
#include "weft/core/text/small_letters.h"
#include "weft/core/utf8_sequence.h"

namespace weft {
namespace {

// Insertions, deletions, replacements and swaps of neighbours that turn one short name into the other.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> before(right.size() + 1);
  std::vector<std::size_t> above(right.size() + 1);
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(above.begin(), above.end(), 0);
  for (std::size_t i = 1; i <= left.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(above);
    above.swap(row);
  }
  return above[right.size()];
}

}  // namespace

std::string quote(std::string_view text, std::size_t maximum_bytes) {
  std::string result = "'";
  std::size_t position = 0;
  // Whole characters and whole escapes at a time: the cut never leaves half of one.
  while (position < text.size() && result.size() <= maximum_bytes) {
    const std::size_t length = visible_length(text.substr(position));
    if (text[position] == '\'' || text[position] == '\\') {
      result += {'\\', text[position]};
    } else if (length > 0) {
      result += text.substr(position, length);
    } else {
      result += "\\x" + hexadecimal(static_cast<unsigned char>(text[position]));
    }
    position += std::max<std::size_t>(length, 1);
  }
  return result + (position < text.size() ? "'..." : "'");
}

std::string quoted_list(std::span<const std::string> texts, std::size_t most) {
  const std::string result =
      joined(texts.first(std::min(texts.size(), most)), ", ", [](const std::string& text) { return quote(text); });
  return texts.size() > most ? result + " and " + std::to_string(texts.size() - most) + " more" : result;
}

// A capital in place of a small letter is no edit.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  // Longer names are no slips of the finger, and the distance takes quadratic time.
  constexpr std::size_t kLongestName = 64;
  std::string_view best;
  std::size_t least = std::min<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    if (name.size() > kLongestName || candidate.size() > kLongestName) {
      continue;
    }
    const std::size_t distance = edit_distance(small_letters(std::string(name)), small_letters(std::string(candidate)));
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string_view nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : "did you mean '" + std::string(nearest) + "'?";
}

}  // namespace weft
