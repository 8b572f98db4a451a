// SPDX-License-Identifier: Apache-2.0
// Any bytes as tokenizer_config.json, a NUL, special_tokens_map.json, a NUL, and added_tokens.json, beside a small
// vocabulary: either a one-line error, or a tokeniser that takes a text.
#include "fuzz/support/tokenise.h"
#include "weft/text/hugging_face/compose.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parts = weft::fuzz::parts_of(data, size, 3);
  std::map<std::string, std::string> files;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    constexpr const char* kNames[] = {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"};
    if (!parts[i].empty()) {
      files.emplace(kNames[i], parts[i]);
    }
  }
  weft::fuzz::one_line_errors([&] {
    constexpr std::string_view kVocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nloom\nweav\n##es\n,\n";
    weft::text::TokenizerSettings settings = weft::text::read_tokenizer_settings(files, "fuzz");
    weft::fuzz::tokenise(weft::text::compose_bert(kVocabulary, settings, "fuzz"), "The loom [MASK] weaves, <new> é");
  });
  return 0;
}
