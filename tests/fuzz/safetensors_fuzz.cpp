// SPDX-License-Identifier: Apache-2.0
// Any bytes as a safetensors header: either a clear error, or tensors that keep within the data. The first byte of the
// input is how much data there is.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "weft/core/error.h"
#include "weft/formats/safetensors.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  try {
    const weft::formats::SafetensorsHeader header = weft::formats::parse_safetensors_header(text, data[0], "fuzz");
    std::uint64_t covered = 0;
    for (const weft::formats::TensorInfo& tensor : header.tensors) {
      if (tensor.begin != covered || tensor.end < tensor.begin) {
        std::abort();
      }
      covered = tensor.end;
    }
    if (covered != data[0]) {
      std::abort();
    }
  } catch (const weft::Error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) {
      std::abort();
    }
  }
  return 0;
}
