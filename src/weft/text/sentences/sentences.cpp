// SPDX-License-Identifier: Apache-2.0
// The crate sees the document with other bytes where it is no UTF-8, of the same length, so that its places are right.
#include "weft/text/sentences/sentences.h"

#include <algorithm>
#include <exception>

#include "weft/core/error.h"
#include "weft/core/utf8_sequence.h"
#include "weft/text/hugging_face/tokenizers_c.h"
#include "weft/text/utf8.h"

// NOLINTBEGIN(readability-identifier-naming): names of a C interface
extern "C" {

bool weft_sentence_ends(const std::uint8_t* text, std::size_t length, bool lines, void (*take)(void*, std::size_t),
                        void* context, WeftText* error);

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

namespace weft::text {
namespace {

// What nobody takes for a letter, a blank or the end of a sentence.
constexpr char kUnknownSign = '#';

std::string as_utf8(std::string_view document) {
  std::string text(document);
  for (std::size_t place = 0; place < text.size();) {
    const std::size_t bytes = utf8_sequence_length(std::string_view(text).substr(place));
    if (bytes == 0) {
      text[place] = kUnknownSign;
    }
    place += std::max<std::size_t>(bytes, 1);
  }
  return text;
}

// The place without white space at either side; empty where there is nothing else.
SentencePlace trimmed(std::string_view document, SentencePlace place) {
  const std::string_view right = strip_right(place.in(document));
  const std::size_t end = place.begin + right.size();
  return {end - strip_left(right).size(), end};
}

struct Ends {
  std::vector<std::size_t> places;
  std::exception_ptr failure;

  // Called from Rust, which an exception must not cross.
  static void take(void* context, std::size_t end) noexcept {
    auto& self = *static_cast<Ends*>(context);
    try {
      self.places.push_back(end);
    } catch (...) {
      self.failure = std::current_exception();
    }
  }
};

}  // namespace

std::vector<SentencePlace> find_sentences(std::string_view document, const SentenceRules& rules) {
  const std::string text = as_utf8(document);
  Ends ends;
  WeftText error{};
  const bool found = weft_sentence_ends(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), rules.lines,
                                        &Ends::take, &ends, &error);
  if (ends.failure) {
    std::rethrow_exception(ends.failure);
  }
  if (!found) {
    const std::string problem(reinterpret_cast<const char*>(error.data), error.length);
    weft_text_free(error);
    fail(ErrorKind::kArgument, "the document cannot be cut into sentences: ", problem);
  }
  std::vector<SentencePlace> places;
  std::size_t begin = 0;
  for (const std::size_t end : ends.places) {
    const SentencePlace place = trimmed(document, {begin, end});
    if (place.begin < place.end) {
      places.push_back(place);
    }
    begin = end;
  }
  return places;
}

std::string with_sentences(std::string_view document, std::span<const SentencePlace> places,
                           std::span<const std::string> texts) {
  require(places.size() == texts.size(), "a document of ", places.size(), " sentences needs a text for each, found ",
          texts.size());
  std::string result;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    require(places[i].begin >= begin && places[i].begin <= places[i].end && places[i].end <= document.size(),
            "sentence ", i + 1, " must be behind the one before it and in the document");
    result.append(document.substr(begin, places[i].begin - begin)).append(texts[i]);
    begin = places[i].end;
  }
  return result.append(document.substr(begin));
}

}  // namespace weft::text
