// SPDX-License-Identifier: Apache-2.0
// Any bytes as BERT's vocab.txt, a NUL, and a text: either a one-line error, or a tokeniser that takes the text.
#include "fuzz/support/tokenise.h"
#include "weft/text/hugging_face/compose.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parts = weft::fuzz::parts_of(data, size, 2);
  weft::fuzz::one_line_errors([&] {
    weft::text::TokenizerSettings settings;
    weft::fuzz::tokenise(weft::text::compose_bert(parts[0], settings, "fuzz"), parts[1]);
  });
  return 0;
}
