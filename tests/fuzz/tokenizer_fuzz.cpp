// SPDX-License-Identifier: Apache-2.0
// Any bytes as a tokenizer.json, a NUL, and a text.
#include "fuzz/support/tokenise.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parts = weft::fuzz::parts_of(data, size, 2);
  weft::fuzz::tokenise(parts[0], parts[1].empty() ? "hello world" : parts[1]);
  return 0;
}
