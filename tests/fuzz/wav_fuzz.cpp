// SPDX-License-Identifier: Apache-2.0
// Any bytes as WAV: one-line errors, and as many samples as are said.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fuzz/support/memory_file.h"
#include "weft/readers/media/wav.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::fuzz::MemoryFile file(data, size);
  try {
    const weft::readers::WavFile wav(file.path());
    std::string bytes(static_cast<std::size_t>(wav.samples()), '\0');
    wav.read(0, wav.samples(), bytes.data());
    if (bytes.size() > size) {
      std::abort();
    }
  } catch (const weft::Error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) {
      std::abort();
    }
  }
  return 0;
}
