// SPDX-License-Identifier: Apache-2.0
// Any bytes, gzip among them, as documents a line each: one-line errors, and UTF-8.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "fuzz/support/memory_file.h"
#include "weft/readers/text_reader.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::fuzz::MemoryFile file(data, size);
  weft::fuzz::check_reader([&](const weft::readers::ReadOptions& options) {
    return std::make_unique<weft::readers::TextReader>(file.path(), weft::readers::TextUnit::kLine, options);
  });
  return 0;
}
