// SPDX-License-Identifier: Apache-2.0
// Any bytes, gzip among them, as FASTA: one-line errors, and records with a sequence.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "fuzz/support/memory_file.h"
#include "weft/readers/fasta_reader.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::fuzz::MemoryFile file(data, size);
  weft::fuzz::check_reader([&](const weft::readers::ReadOptions& options) {
    return std::make_unique<weft::readers::FastaReader>(file.path(), options);
  });
  return 0;
}
