// SPDX-License-Identifier: Apache-2.0
// Text on its way to the tokenizers crate and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/text/hugging_face/tokenizers_c.h"

namespace weft::text {

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
