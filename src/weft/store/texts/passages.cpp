// SPDX-License-Identifier: Apache-2.0
// Sentences first, pieces of those that are too long, then as many as fit.
#include "weft/store/texts/passages.h"

namespace weft::store {
namespace {

using text::SentencePlace;

constexpr std::string_view kBlanks = " \t\r\n\f\v";

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U; }

// Looks no further than it must: a text may be one sentence of a gigabyte.
bool is_longer(std::string_view text, std::int64_t length) {
  std::int64_t seen = 0;
  for (const char byte : text) {
    seen += begins_character(byte) ? 1 : 0;
    if (seen > length) {
      return true;
    }
  }
  return false;
}

// Where the first `length` characters of a longer text end.
std::size_t end_of_characters(std::string_view text, std::int64_t length) {
  std::size_t end = 0;
  for (std::int64_t seen = 0; end < text.size(); ++end) {
    seen += begins_character(text[end]) ? 1 : 0;
    if (seen > length) {
      break;
    }
  }
  return end;
}

SentencePlace without_blanks(std::string_view text, SentencePlace place) {
  const std::size_t begin = place.in(text).find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) {
    return {place.begin, place.begin};
  }
  const std::size_t end = place.in(text).find_last_not_of(kBlanks) + 1;
  return {place.begin + begin, place.begin + end};
}

// A sentence as pieces of at most `length` characters.
void add_pieces(std::string_view text, SentencePlace sentence, std::int64_t length,
                std::vector<SentencePlace>& pieces) {
  while (is_longer(sentence.in(text), length)) {
    const std::size_t most = end_of_characters(sentence.in(text), length);
    const std::size_t blank = sentence.in(text).substr(0, most + 1).find_last_of(kBlanks);
    const std::size_t cut = blank == std::string_view::npos || blank == 0 ? most : blank;
    pieces.push_back(without_blanks(text, {sentence.begin, sentence.begin + cut}));
    sentence = without_blanks(text, {sentence.begin + cut, sentence.end});
  }
  pieces.push_back(sentence);
}

}  // namespace

std::vector<SentencePlace> cut_passages(std::string_view text, std::int64_t length) {
  const SentencePlace whole = without_blanks(text, {0, text.size()});
  if (whole.begin == whole.end) {
    return {};
  }
  if (length == 0 || !is_longer(whole.in(text), length)) {
    return {whole};
  }
  std::vector<SentencePlace> pieces;
  for (const SentencePlace& sentence : text::find_sentences(text)) {
    add_pieces(text, sentence, length, pieces);
  }
  std::vector<SentencePlace> passages;
  for (const SentencePlace& piece : pieces) {
    const bool fits =
        !passages.empty() && !is_longer(text.substr(passages.back().begin, piece.end - passages.back().begin), length);
    if (fits) {
      passages.back().end = piece.end;
    } else {
      passages.push_back(piece);
    }
  }
  return passages;
}

}  // namespace weft::store
