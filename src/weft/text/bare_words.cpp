// SPDX-License-Identifier: Apache-2.0
// Letters are what the tokenizers crate's Unicode tables say.
#include "weft/text/bare_words.h"

#include <exception>

#include "weft/core/error.h"
#include "weft/core/utf8_sequence.h"
#include "weft/text/hugging_face/tokenizers_c.h"

// NOLINTBEGIN(readability-identifier-naming): names of a C interface
extern "C" {

struct WeftBareWord {
  std::size_t begin;
  std::size_t end;
  WeftSlice lower;
  WeftSlice title;
  WeftSlice upper;
};

bool weft_bare_words(const std::uint8_t* text, std::size_t length, void (*take)(void*, const WeftBareWord*),
                     void* context, WeftText* error);

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

namespace weft::text {
namespace {

struct TakenWords {
  std::vector<BareWord> words;
  std::exception_ptr failure;

  // Called from Rust, which an exception must not cross.
  static void take(void* context, const WeftBareWord* word) noexcept {
    auto& self = *static_cast<TakenWords*>(context);
    const auto copied = [](const WeftSlice& slice) {
      return std::string(reinterpret_cast<const char*>(slice.data), slice.length);
    };
    try {
      self.words.push_back({word->begin, word->end, copied(word->lower), copied(word->title), copied(word->upper)});
    } catch (...) {
      self.failure = std::current_exception();
    }
  }
};

}  // namespace

std::vector<BareWord> bare_words(std::string_view text) {
  const std::string valid = with_blanks_for_bytes(text);
  TakenWords taken;
  WeftText error{};
  const bool found = weft_bare_words(reinterpret_cast<const std::uint8_t*>(valid.data()), valid.size(),
                                     &TakenWords::take, &taken, &error);
  if (taken.failure) {
    std::rethrow_exception(taken.failure);
  }
  if (!found) {
    const std::string problem(reinterpret_cast<const char*>(error.data), error.length);
    weft_text_free(error);
    fail(ErrorKind::kArgument, "the words of the text cannot be found: ", problem);
  }
  return std::move(taken.words);
}

}  // namespace weft::text
