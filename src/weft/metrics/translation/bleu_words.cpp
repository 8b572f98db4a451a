// SPDX-License-Identifier: Apache-2.0
// Each regular expression of the reference is one pass over the bytes, whose matches do not overlap. Bytes do as well
// as characters: every character that a rule names is ASCII, and "any but a digit" may be any byte of a longer
// character.
#include "weft/metrics/translation/bleu_words.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/metrics/crate_functions.h"
#include "weft/metrics/translation/code_points.h"
#include "weft/text/utf8.h"

namespace weft::metrics {
namespace {

constexpr std::array<std::pair<std::string_view, BleuWords>, 5> kBleuWordNames = {{{"13a", BleuWords::k13a},
                                                                                   {"intl", BleuWords::kIntl},
                                                                                   {"zh", BleuWords::kZh},
                                                                                   {"char", BleuWords::kChar},
                                                                                   {"none", BleuWords::kNone}}};

bool is_digit(char byte) noexcept { return byte >= '0' && byte <= '9'; }
bool is_stop(char byte) noexcept { return byte == '.' || byte == ','; }

// [\{-\~\[-\` -\&\(-\+\:-\@\/]: ASCII's punctuation and the blank, without ' , - and the full stop.
bool stands_alone(char byte) noexcept {
  const auto within = [&](char first, char last) { return byte >= first && byte <= last; };
  return within('{', '~') || within('[', '`') || within(' ', '&') || within('(', '+') || within(':', '@') ||
         byte == '/';
}

// Pairs of bytes that `fits` are written by `write`, others as they are.
template <typename Fits, typename Write>
std::string with_pairs(std::string_view text, const Fits& fits, const Write& write) {
  std::string result;
  result.reserve(text.size() + text.size() / 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && fits(text[i], text[i + 1])) {
      write(result, text[i], text[i + 1]);
      ++i;
    } else {
      result += text[i];
    }
  }
  return result;
}

// ([^0-9])([\.,]) and ([0-9])(-): a blank before and behind the second.
void split_second(std::string& result, char first, char second) {
  ((result += first) += ' ') += second;
  result += ' ';
}

// The four expressions that 13a and zh share.
std::string western_words(std::string_view text) {
  std::string alone;
  alone.reserve(text.size() * 2);
  for (const char byte : text) {
    if (stands_alone(byte)) {
      ((alone += ' ') += byte) += ' ';
    } else {
      alone += byte;
    }
  }
  alone = with_pairs(alone, [](char first, char second) { return !is_digit(first) && is_stop(second); }, split_second);
  alone = with_pairs(
      alone, [](char first, char second) { return is_stop(first) && !is_digit(second); },
      [](std::string& result, char first, char second) { (((result += ' ') += first) += ' ') += second; });
  return with_pairs(alone, [](char first, char second) { return is_digit(first) && second == '-'; }, split_second);
}

std::string words_13a(std::string_view line) {
  std::string text(line);
  text = with_replaced(text, "<skipped>", "");
  text = with_replaced(text, "-\n", "");
  text = with_replaced(text, "\n", " ");
  text = with_replaced(text, "&quot;", "\"");
  text = with_replaced(text, "&amp;", "&");
  text = with_replaced(text, "&lt;", "<");
  text = with_replaced(text, "&gt;", ">");
  return western_words(" " + text + " ");
}

// The reference's ranges as they work: two of them are written as five digits in Python, where they mean four, so that
// general punctuation, arrows and mathematical signs stand alone too.
bool is_chinese(char32_t letter) noexcept {
  constexpr std::array<std::pair<char32_t, char32_t>, 21> kRanges = {
      {{0x3400, 0x4DB5}, {0x4E00, 0x9FA5}, {0x9FA6, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A}, {0xFA70, 0xFAD9},
       {0x2001, 0x2A6D}, {0x2F81, 0x2FA1}, {0xFF00, 0xFFEF}, {0x2E80, 0x2EFF}, {0x3000, 0x303F}, {0x31C0, 0x31EF},
       {0x2F00, 0x2FDF}, {0x2FF0, 0x2FFF}, {0x3100, 0x312F}, {0x31A0, 0x31BF}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F},
       {0x2600, 0x26FF}, {0x2700, 0x27BF}, {0x3200, 0x33FF}}};
  return std::any_of(kRanges.begin(), kRanges.end(),
                     [&](const auto& range) { return letter >= range.first && letter <= range.second; });
}

// Text with blanks around the characters that `alone` names.
template <typename Alone>
std::string spaced_characters(std::string_view text, const Alone& alone) {
  std::string result;
  while (!text.empty()) {
    const Letter letter = first_letter(text);
    const std::string_view character = text.substr(0, letter.bytes);
    result += alone(letter.value) ? concat(' ', character, ' ') : std::string(character);
    text.remove_prefix(letter.bytes);
  }
  return result;
}

}  // namespace

BleuWords parse_bleu_words(std::string_view name) {
  const auto* found =
      std::find_if(kBleuWordNames.begin(), kBleuWordNames.end(), [&](const auto& row) { return row.first == name; });
  require(
      found != kBleuWordNames.end(), "BLEU's words must be ",
      [&] { return joined(kBleuWordNames, ", ", [](const auto& row) { return std::string(row.first); }); }, ", found ",
      Quoted(name));
  return found->second;
}

std::string_view name_of(BleuWords words) noexcept { return kBleuWordNames[static_cast<std::size_t>(words)].first; }

std::string spaced_words(BleuWords words, std::string_view line) {
  switch (words) {
    case BleuWords::k13a:
      return words_13a(line);
    case BleuWords::kIntl:
      return from_crate(weft_international_words, line, [&](const std::string& problem) {
        fail(ErrorKind::kArgument, "the line ", quote(line), " cannot be cut into words: ", problem);
      });
    case BleuWords::kZh:
      return western_words(spaced_characters(text::strip_left(line), is_chinese));
    case BleuWords::kChar:
      return spaced_characters(line, [](char32_t) { return true; });
    case BleuWords::kNone:
      break;
  }
  return std::string(line);
}

}  // namespace weft::metrics
