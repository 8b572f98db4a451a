// SPDX-License-Identifier: Apache-2.0
// A document is tokenised whole first, so that its length is known before anything is cut.
#include "weft/tasks/documents.h"

#include <algorithm>
#include <string_view>

#include "weft/core/error.h"
#include "weft/core/system/option_name.h"
#include "weft/tasks/text_too_long.h"

namespace weft::tasks {
namespace {

// Errors name the document.
std::vector<text::Encoding> encode_pieces(const text::HuggingFaceTokenizer& tokenizer, const Document& document,
                                          const text::EncodeOptions& options) {
  try {
    return document.second ? tokenizer.encode_windows(document.first, *document.second, options)
                           : tokenizer.encode_windows(document.first, options);
  } catch (const Error& error) {
    const std::string message = concat(document.name, ": ", error.what());
    if (error.kind() == ErrorKind::kArgument) {
      throw UnfitText(message, error.hint());
    }
    throw Error(error.kind(), message, error.hint());
  }
}

// Where the last token of text in a window begins.
std::int64_t last_place(const text::Encoding& window) {
  const auto last = std::find(window.special_mask.rbegin(), window.special_mask.rend(), 0);
  const auto behind = static_cast<std::size_t>(window.special_mask.rend() - last);
  return behind == 0 ? 0 : window.byte_offsets[behind - 1].begin;
}

// Windows in the order of the text. With truncation_side left the tokeniser gives the end first.
void order_windows(std::vector<text::Encoding>& windows) {
  std::stable_sort(windows.begin(), windows.end(), [](const text::Encoding& left, const text::Encoding& right) {
    return last_place(left) < last_place(right);
  });
}

[[noreturn]] void fail_on_length(std::string_view where, std::int64_t tokens, const LengthRule& rule) {
  throw TextTooLong(
      concat(where, ": ", tokens, " tokens, but ", rule.model, " takes at most ", rule.maximum, " at once"), rule.hint);
}

// Windows over the second of two texts all begin with the first one, and go on by what is left beyond the stride.
void check_room(const Document& document, const text::Encoding& whole, const LengthRule& rule) {
  if (!document.second || rule.side != text::Truncation::kOnlySecond) {
    return;
  }
  const std::int64_t taken = std::ssize(whole.ids) - std::ranges::count(whole.sequences, std::int64_t{1});
  const std::int64_t room = std::max<std::int64_t>(0, rule.maximum - taken);
  if (room <= rule.stride) {
    throw UnfitText(
        concat(document.name, ": the text in front of it (a question, a query) takes ", taken, " of the ", rule.maximum,
               " tokens of a window, which leaves room for ", room, ", but windows share ", rule.stride),
        concat("shorten that text, or have windows share less with ", option("stride")));
  }
}

}  // namespace

std::vector<Document> with_prompt(std::span<const Document> documents, const std::string& prompt) {
  std::vector<Document> prompted;
  prompted.reserve(documents.size());
  for (const Document& document : documents) {
    prompted.push_back({.first = prompt + document.first, .second = document.second, .name = document.name});
  }
  return prompted;
}

EncodedDocument encode_document(const text::HuggingFaceTokenizer& tokenizer, const Document& document,
                                const LengthRule& rule) {
  EncodedDocument encoded;
  encoded.windows = encode_pieces(tokenizer, document, {});
  encoded.tokens = static_cast<std::int64_t>(encoded.windows.front().ids.size());
  if (rule.maximum == 0 || encoded.tokens <= rule.maximum) {
    return encoded;
  }
  if (rule.overflow == Overflow::kError) {
    fail_on_length(document.name, encoded.tokens, rule);
  }
  const bool windows = rule.overflow == Overflow::kWindows;
  if (windows) {
    check_room(document, encoded.windows.front(), rule);
  }
  const text::EncodeOptions options{
      .max_length = rule.maximum, .stride = windows ? rule.stride : 0, .truncation = rule.side};
  encoded.windows = encode_pieces(tokenizer, document, options);
  if (windows) {
    order_windows(encoded.windows);
  } else {
    encoded.windows.resize(1);
    encoded.left_out = encoded.tokens - static_cast<std::int64_t>(encoded.windows.front().ids.size());
  }
  return encoded;
}

}  // namespace weft::tasks
