// SPDX-License-Identifier: Apache-2.0
// Any bytes as BigBird's spiece.model: either a one-line error, or a tokeniser that takes a text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "weft/core/error.h"
#include "weft/text/hugging_face/compose.h"
#include "weft/text/hugging_face/tokenizers_c.h"

namespace {

void free_text(const WeftText& text) {
  if (text.data != nullptr) {
    weft_text_free(text);
  }
}

void encode(const std::string& json) {
  WeftText error{};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(json.data());
  WeftTokenizer* tokenizer = weft_tokenizer_load(bytes, json.size(), &error);
  free_text(error);
  if (tokenizer == nullptr) {
    return;
  }
  constexpr std::string_view kText = "the loom [MASK]  weaves, twice";
  const WeftRequest request{
      reinterpret_cast<const std::uint8_t*>(kText.data()), kText.size(), nullptr, 0, 8, 1, 0, true};
  WeftText refusal{};
  WeftEncoded* encoded = weft_tokenizer_encode(tokenizer, &request, &refusal);
  free_text(refusal);
  weft_encoded_free(encoded);
  weft_tokenizer_free(tokenizer);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    weft::text::TokenizerSettings settings;
    encode(weft::text::compose_big_bird({reinterpret_cast<const char*>(data), size}, settings, "fuzz"));
  } catch (const weft::Error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) {
      std::abort();
    }
  }
  return 0;
}
