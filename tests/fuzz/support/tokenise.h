// SPDX-License-Identifier: Apache-2.0
// What fuzzers of tokenisers share: a tokenizer.json, whatever it says, gives an error or windows that keep within the
// text and whose ids decode.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error.h"
#include "weft/text/hugging_face/tokenizers_c.h"
#include "weft/text/utf8.h"

namespace weft::fuzz {

/// `input` cut at its NUL bytes into `count` parts; the last has the rest, and parts that are missing are empty.
inline std::vector<std::string> parts_of(const std::uint8_t* data, std::size_t size, std::size_t count) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> parts;
  while (parts.size() + 1 < count) {
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    parts.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  parts.emplace_back(rest);
  return parts;
}

inline void free_text(const WeftText& text) {
  if (text.data != nullptr) {
    weft_text_free(text);
  }
}

inline void check_window(const WeftTokenizer* tokenizer, const WeftWindow& window, std::size_t points) {
  for (std::size_t i = 0; i < window.length; ++i) {
    if (window.ends[i] > points || window.starts[i] > points) {
      std::abort();
    }
  }
  WeftText decoded{};
  WeftText error{};
  weft_tokenizer_decode(tokenizer, window.ids, window.length, true, &decoded, &error);
  free_text(decoded);
  free_text(error);
}

/// All windows of `text` beside half of itself; null when the tokeniser refuses.
inline WeftEncoded* encode(const WeftTokenizer* tokenizer, std::string_view text, bool ids_only) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const WeftRequest request{.first = bytes,
                            .first_length = text.size(),
                            .second = bytes,
                            .second_length = text.size() / 2,
                            .max_length = 7,
                            .stride = 1,
                            .strategy = 0,
                            .special = true,
                            .left = false,
                            .ids_only = ids_only};
  WeftText error{};
  WeftEncoded* encoded = weft_tokenizer_encode(tokenizer, &request, &error);
  free_text(error);
  return encoded;
}

inline void tokenise(std::string_view json, std::string_view text) {
  WeftText error{};
  WeftTokenizer* tokenizer =
      weft_tokenizer_load(reinterpret_cast<const std::uint8_t*>(json.data()), json.size(), &error);
  free_text(error);
  if (tokenizer == nullptr) {
    return;
  }
  for (const bool ids_only : {false, true}) {
    WeftEncoded* encoded = encode(tokenizer, text, ids_only);
    const std::size_t windows = encoded == nullptr || ids_only ? 0 : weft_encoded_windows(encoded);
    for (std::size_t i = 0; i < windows; ++i) {
      check_window(tokenizer, weft_encoded_window(encoded, i), text::code_point_count(text));
    }
    weft_encoded_free(encoded);
  }
  weft_tokenizer_free(tokenizer);
}

/// Runs `read`, whose errors must be one line.
template <typename Read>
void one_line_errors(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) {
      std::abort();
    }
  }
}

}  // namespace weft::fuzz
