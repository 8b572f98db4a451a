// SPDX-License-Identifier: Apache-2.0
// Every token by itself, as text.
#include "weft/text/sentences/sentence_ends.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "weft/core/error.h"
#include "weft/core/log.h"

namespace weft::text {
namespace {

bool has_marks_alone(std::string_view token) {
  constexpr std::array<std::string_view, 6> kMarks{".", "?", "!", "\u3002", "\uff1f", "\uff01"};
  bool found = false;
  while (!token.empty()) {
    const auto* const mark =
        std::find_if(kMarks.begin(), kMarks.end(), [&](std::string_view each) { return token.starts_with(each); });
    if (mark == kMarks.end() && token.front() != ' ') {
      return false;
    }
    found = found || mark != kMarks.end();
    token.remove_prefix(mark == kMarks.end() ? 1 : mark->size());
  }
  return found;
}

/// Empty for an id that no token has.
std::string token_text(const HuggingFaceTokenizer& tokenizer, std::int64_t id) {
  try {
    return tokenizer.decode({id});
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::vector<std::int64_t> sentence_end_ids(const HuggingFaceTokenizer& tokenizer) {
  std::vector<std::int64_t> ends;
  for (std::int64_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    if (has_marks_alone(token_text(tokenizer, id))) {
      ends.push_back(id);
    }
  }
  if (ends.empty()) {
    log_warning("the tokeniser has no token of a full stop, question mark or exclamation mark, so that a text is one ",
                "sentence; sentence_end_ids in config.json can name other tokens");
  }
  if (const auto separator = tokenizer.special(SpecialRole::kSeparator)) {
    ends.push_back(*separator);
  }
  return ends;
}

}  // namespace weft::text
