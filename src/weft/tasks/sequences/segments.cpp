// SPDX-License-Identifier: Apache-2.0
// Division halves: every level looks at all bytes of a sentence once, so that a sentence of n bytes takes n log n.
#include "weft/tasks/sequences/segments.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/text/utf8.h"

namespace weft::tasks {
namespace {

using Place = text::SentencePlace;

// `place` without white space at both ends.
Place trimmed(std::string_view document, const Place& place) {
  const std::string_view right = text::strip_right(place.in(document));
  const std::size_t end = place.begin + right.size();
  return {end - text::strip_left(right).size(), end};
}

bool is_ascii_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Where to divide `sentence`, which has no white space at its ends: a byte from 1 to its last one.
std::size_t middle(std::string_view sentence) {
  constexpr std::string_view kPauses = ",;:)!?.";
  const std::size_t half = sentence.size() / 2;
  const auto distance = [half](std::size_t at) { return at > half ? at - half : half - at; };
  std::size_t blank = 0;
  std::size_t pause = 0;
  for (std::size_t at = 1; at + 1 < sentence.size(); ++at) {
    if (!is_ascii_blank(sentence[at])) {
      continue;
    }
    blank = blank == 0 || distance(at) < distance(blank) ? at : blank;
    const bool behind_pause = kPauses.find(sentence[at - 1]) != std::string_view::npos;
    pause = behind_pause && (pause == 0 || distance(at) < distance(pause)) ? at : pause;
  }
  // Behind a pause, unless that makes one part more than four times as long as the other.
  if (pause > sentence.size() / 5 && pause < sentence.size() - sentence.size() / 5) {
    return pause;
  }
  if (blank > 0) {
    return blank;
  }
  // No blank at all: between two characters, the first of which stays whole.
  std::size_t at = half;
  while (at > 0 && (static_cast<unsigned char>(sentence[at]) & 0xC0U) == 0x80U) {
    --at;
  }
  return std::max({at, std::size_t{1}, text::utf8_sequence_length(sentence)});
}

// The sentence at `place` in parts that fit.
void divide(std::string_view document, const Place& place, const FitsModel& fits, std::size_t sentence,
            Segments& segments) {
  std::vector<Place> rest = {place};
  while (!rest.empty()) {
    const Place next = trimmed(document, rest.back());
    rest.pop_back();
    const std::string_view text = next.in(document);
    if (text.empty()) {
      continue;
    }
    const std::size_t character = std::max<std::size_t>(1, text::utf8_sequence_length(text));
    if (text.size() <= character || fits(text)) {
      segments.places.push_back(next);
      segments.sentence.push_back(sentence);
      continue;
    }
    const std::size_t cut = next.begin + middle(text);
    rest.push_back({cut, next.end});
    rest.push_back({next.begin, cut});
  }
}

// What `split` says, and what it leaves out between its sentences.
std::vector<Place> all_sentences(std::string_view document, const SplitText& split) {
  std::vector<Place> sentences;
  const auto add = [&](const Place& place) {
    const Place inner = trimmed(document, place);
    if (inner.begin < inner.end) {
      sentences.push_back(inner);
    }
  };
  std::size_t end = 0;
  for (const Place& place : split(document)) {
    require(place.begin >= end && place.begin <= place.end && place.end <= document.size(), "a sentence lies at ",
            place.begin, " to ", place.end, " of ", document.size(), " bytes, behind one that ends at ", end);
    add({end, place.begin});
    add(place);
    end = place.end;
  }
  add({end, document.size()});
  return sentences;
}

}  // namespace

Segments segments_of(std::string_view document, const SplitText& split, const FitsModel& fits) {
  Segments segments;
  const std::vector<Place> sentences = all_sentences(document, split);
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    divide(document, sentences[i], fits, i, segments);
  }
  return segments;
}

}  // namespace weft::tasks
