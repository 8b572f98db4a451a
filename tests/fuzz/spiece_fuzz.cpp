// SPDX-License-Identifier: Apache-2.0
// Any bytes as the SentencePiece model of BigBird, XLM-RoBERTa, CamemBERT and DeBERTa, and as Weft's own
// tokenizer.model: either a one-line error, or a tokeniser that takes a text.
#include "fuzz/support/memory_file.h"
#include "fuzz/support/tokenise.h"
#include "weft/text/hugging_face/compose.h"
#include "weft/text/tokenizer.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view kText = "the loom [MASK]  weaves,\xFF twice 中";
  for (const auto compose : {weft::text::compose_big_bird, weft::text::compose_xlm_roberta,
                             weft::text::compose_camembert, weft::text::compose_deberta}) {
    weft::fuzz::one_line_errors([&] {
      weft::text::TokenizerSettings settings;
      weft::fuzz::tokenise(compose({reinterpret_cast<const char*>(data), size}, settings, "fuzz"), kText);
    });
  }
  weft::fuzz::one_line_errors([&] {
    const weft::fuzz::MemoryFile file(data, size);
    const auto tokenizer = weft::text::load_sentencepiece(file.path());
    tokenizer->decode(tokenizer->encode(kText));
    tokenizer->encode(std::string(2000, 'a'));
  });
  return 0;
}
