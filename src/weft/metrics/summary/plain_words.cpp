// SPDX-License-Identifier: Apache-2.0
// Code points by ranges of Unicode's blocks.
#include "weft/metrics/summary/plain_words.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "weft/core/utf8_sequence.h"
#include "weft/metrics/summary/rouge.h"
#include "weft/metrics/translation/code_points.h"

namespace weft::metrics {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Signs that end a word, by rising code points: ASCII's, of Latin-1 all but letters and raised digits, and the
// punctuation of Greek, Armenian, Hebrew, Arabic, Indic, Tibetan, Burmese, Ethiopic, Khmer, Mongolian and the East.
constexpr std::array kSigns = {
    Range{'!', '/'},       Range{':', '@'},       Range{'[', '`'},        Range{'{', '~'},
    Range{0xA1, 0xA9},     Range{0xAB, 0xB1},     Range{0xB4, 0xB4},      Range{0xB6, 0xB8},
    Range{0xBB, 0xBB},     Range{0xBF, 0xBF},     Range{0xD7, 0xD7},      Range{0xF7, 0xF7},
    Range{0x37E, 0x37E},   Range{0x387, 0x387},   Range{0x55A, 0x55F},    Range{0x589, 0x58A},
    Range{0x5BE, 0x5BE},   Range{0x5C0, 0x5C0},   Range{0x5C3, 0x5C3},    Range{0x5C6, 0x5C6},
    Range{0x5F3, 0x5F4},   Range{0x606, 0x60F},   Range{0x61B, 0x61F},    Range{0x66A, 0x66D},
    Range{0x6D4, 0x6D4},   Range{0x700, 0x70D},   Range{0x964, 0x965},    Range{0x970, 0x970},
    Range{0xE4F, 0xE4F},   Range{0xE5A, 0xE5B},   Range{0xF04, 0xF14},    Range{0x104A, 0x104F},
    Range{0x10FB, 0x10FB}, Range{0x1360, 0x1368}, Range{0x16EB, 0x16ED},  Range{0x17D4, 0x17DA},
    Range{0x1800, 0x180A}, Range{0x2000, 0x206F}, Range{0x20A0, 0x20CF},  Range{0x2190, 0x2BFF},
    Range{0x2E00, 0x2E7F}, Range{0x3000, 0x3004}, Range{0x3008, 0x3020},  Range{0x3030, 0x3030},
    Range{0x303D, 0x303F}, Range{0x30A0, 0x30A0}, Range{0x30FB, 0x30FB},  Range{0xA4FE, 0xA4FF},
    Range{0xFE10, 0xFE19}, Range{0xFE30, 0xFE6F}, Range{0xFF01, 0xFF0F},  Range{0xFF1A, 0xFF20},
    Range{0xFF3B, 0xFF40}, Range{0xFF5B, 0xFF65}, Range{0x1F000, 0x1FAFF}};

// Letters that are words: Hiragana and Katakana with their repeats, and Han.
constexpr std::array kWholeWords = {Range{0x3005, 0x3007}, Range{0x3021, 0x3029}, Range{0x3031, 0x3035},
                                    Range{0x3041, 0x309F}, Range{0x30A1, 0x30FA}, Range{0x30FC, 0x30FF},
                                    Range{0x31F0, 0x31FF}, Range{0x3400, 0x4DBF}, Range{0x4E00, 0x9FFF},
                                    Range{0xF900, 0xFAFF}, Range{0xFF66, 0xFF9F}, Range{0x20000, 0x323AF}};

template <std::size_t Count>
bool is_among(const std::array<Range, Count>& ranges, char32_t letter) {
  const auto found = std::ranges::lower_bound(ranges, letter, {}, &Range::last);
  return found != ranges.end() && found->first <= letter;
}

bool ends_word(char32_t letter) { return is_among(kSigns, letter) || is_blank(letter); }

}  // namespace

std::vector<std::string> plain_words(std::string_view text) {
  const std::string lower = lower_case(with_blanks_for_bytes(text));
  const std::string_view all = lower;
  std::vector<std::string> words;
  std::size_t begin = 0;
  const auto end_word = [&](std::size_t end) {
    if (end > begin) {
      words.emplace_back(all.substr(begin, end - begin));
    }
    begin = end;
  };
  for (std::size_t place = 0; place < all.size();) {
    const Letter letter = first_letter(all.substr(place));
    const std::size_t behind = place + letter.bytes;
    if (is_among(kWholeWords, letter.value)) {
      end_word(place);
      end_word(behind);
    } else if (ends_word(letter.value)) {
      end_word(place);
      begin = behind;
    }
    place = behind;
  }
  end_word(all.size());
  return words;
}

bool suits_rouge(std::span<const std::string> texts) {
  std::int64_t seen = 0;
  std::int64_t others = 0;
  for (const std::string& text : texts) {
    for (std::string_view rest = text; !rest.empty();) {
      const Letter letter = first_letter(rest);
      const bool counts = (letter.value >= '0' && letter.value <= '9') ||
                          (letter.value >= 'a' && letter.value <= 'z') || (letter.value >= 'A' && letter.value <= 'Z');
      seen += counts ? 1 : 0;
      others += counts || ends_word(letter.value) || letter.value < 0x80 ? 0 : 1;
      rest.remove_prefix(letter.bytes);
    }
  }
  return seen >= others;
}

std::vector<std::string> scored_words(std::string_view text, bool for_rouge) {
  return for_rouge ? rouge_words(text, true) : plain_words(text);
}

}  // namespace weft::metrics
