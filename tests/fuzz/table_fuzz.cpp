// SPDX-License-Identifier: Apache-2.0
// Any bytes as comma-separated values: one-line errors, and rows of as many fields as the first.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "fuzz/support/memory_file.h"
#include "weft/readers/table_reader.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::fuzz::MemoryFile file(data, size);
  weft::fuzz::check_reader([&](const weft::readers::ReadOptions& options) {
    return std::make_unique<weft::readers::TableReader>(file.path(), weft::readers::TableOptions{}, options);
  });
  return 0;
}
