// SPDX-License-Identifier: Apache-2.0
// Any bytes as a tokenizer.json, a NUL, and a text: either an error, or windows whose offsets keep within the text and
// whose ids decode.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "weft/text/hugging_face/tokenizers_c.h"
#include "weft/text/utf8.h"

namespace {

void free_text(const WeftText& text) {
  if (text.data != nullptr) {
    weft_text_free(text);
  }
}

void check_window(const WeftTokenizer* tokenizer, const WeftWindow& window, std::size_t points) {
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

void encode(const WeftTokenizer* tokenizer, std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const WeftRequest request{bytes, text.size(), bytes, text.size() / 2, 7, 1, 0, true};
  WeftText error{};
  WeftEncoded* encoded = weft_tokenizer_encode(tokenizer, &request, &error);
  free_text(error);
  if (encoded != nullptr) {
    for (std::size_t i = 0; i < weft_encoded_windows(encoded); ++i) {
      check_window(tokenizer, weft_encoded_window(encoded, i), weft::text::code_point_count(text));
    }
    weft_encoded_free(encoded);
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t nul = input.find('\0');
  WeftText error{};
  WeftTokenizer* tokenizer = weft_tokenizer_load(data, nul == std::string_view::npos ? size : nul, &error);
  free_text(error);
  if (tokenizer != nullptr) {
    encode(tokenizer, nul == std::string_view::npos ? "hello world" : input.substr(nul + 1));
    weft_tokenizer_free(tokenizer);
  }
  return 0;
}
