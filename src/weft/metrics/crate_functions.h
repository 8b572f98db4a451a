// SPDX-License-Identifier: Apache-2.0
// The functions of rust/tokenizers-c that metrics use, as C++ sees them, and how they are called.
#pragma once

#include <string>
#include <string_view>

#include "weft/text/hugging_face/tokenizers_c.h"

// NOLINTBEGIN(readability-identifier-naming): names of a C interface
extern "C" {

bool weft_normalize_answer(const std::uint8_t* text, std::size_t length, WeftText* result, WeftText* error);
bool weft_lower_case(const std::uint8_t* text, std::size_t length, WeftText* result, WeftText* error);
bool weft_international_words(const std::uint8_t* text, std::size_t length, WeftText* result, WeftText* error);

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

namespace weft::metrics {

/// What `function` makes of `text`; `refuse(problem)` throws where it makes nothing.
template <typename Refuse>
std::string from_crate(bool (*function)(const std::uint8_t*, std::size_t, WeftText*, WeftText*), std::string_view text,
                       const Refuse& refuse) {
  const auto taken = [](WeftText owned) {
    std::string copy(reinterpret_cast<const char*>(owned.data), owned.length);
    weft_text_free(owned);
    return copy;
  };
  WeftText result{};
  WeftText error{};
  if (!function(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), &result, &error)) {
    refuse(taken(error));
  }
  return taken(result);
}

}  // namespace weft::metrics
