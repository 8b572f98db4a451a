// SPDX-License-Identifier: Apache-2.0
// A text or a pair as the tokenizers crate takes it, and its windows with offsets into what was given.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/text/encoding.h"
#include "weft/text/hugging_face/tokenizers_c.h"

namespace weft::text {

/// `text` with U+FFFD for every byte that is not part of valid UTF-8; empty where it is valid as it is. Errors:
/// kArgument for a text of 2 GiB or more.
std::string valid_text(std::string_view text);

/// Without the blanks before punctuation, as `clean_up_tokenization_spaces` asks for.
std::string cleaned_up(std::string text);

/// Valid UTF-8 in place of texts that may be anything: a byte that is not part of it is one code point here and there,
/// so that offsets agree.
class RequestTexts {
 public:
  /// `second` may be null. The texts must outlive this. Errors: kArgument for a text of 2 GiB or more.
  RequestTexts(std::string_view first, const std::string_view* second);
  RequestTexts(const RequestTexts&) = delete;
  RequestTexts& operator=(const RequestTexts&) = delete;

  /// Points into this; `left`: the beginning of a text gives way, not its end.
  WeftRequest request(const EncodeOptions& options, bool left) const;
  Encoding window(const WeftWindow& window) const;

 private:
  bool pair_;
  std::array<std::string, 2> repaired_;  // empty where the text is valid as it is
  std::array<std::string_view, 2> texts_;
  std::array<std::vector<std::int64_t>, 2> starts_;  // where every code point begins, in bytes as given; then the end
};

inline const std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

/// Text that the crate made, freed there.
class ForeignText {
 public:
  ForeignText() = default;
  ~ForeignText() {
    if (text_.data != nullptr) {
      weft_text_free(text_);
    }
  }
  ForeignText(const ForeignText&) = delete;
  ForeignText& operator=(const ForeignText&) = delete;
  WeftText* get() { return &text_; }
  std::string str() const { return {reinterpret_cast<const char*>(text_.data), text_.length}; }

 private:
  WeftText text_{};
};

}  // namespace weft::text
