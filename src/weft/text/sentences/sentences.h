// SPDX-License-Identifier: Apache-2.0
// The sentences of a document, for models that read one at a time: where each stands, so that what lies between them,
// blanks and line ends, stays as it is.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::text {

/// Bytes [begin, end) of a document, without blanks at either side.
struct SentencePlace {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::string_view in(std::string_view document) const { return document.substr(begin, end - begin); }
};

struct SentenceRules {
  bool lines = true;  ///< a line end ends a sentence; else only an empty line does
};

/// The sentences of `document`, in order: by Unicode's rules (UAX #29), which know closing quotes, numbers and the full
/// stops of all scripts, and without the ends that these see behind abbreviations, initials and numbers of a list. All
/// that is no blank is in one of them. A run of more than 256 signs without a letter or digit may be cut. Bytes that
/// are no UTF-8 are signs too.
std::vector<SentencePlace> find_sentences(std::string_view document, const SentenceRules& rules = {});

/// `document` with `texts[i]` in the place of sentence i: its blanks and lines around other sentences. Errors:
/// kArgument for another number of texts, and for places that are not in order inside of the document.
std::string with_sentences(std::string_view document, std::span<const SentencePlace> places,
                           std::span<const std::string> texts);

}  // namespace weft::text
