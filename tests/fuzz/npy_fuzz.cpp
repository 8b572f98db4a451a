// SPDX-License-Identifier: Apache-2.0
// Any bytes as a .npy file: either a one-line error, or an array with as many bytes as its shape says.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "weft/core/error.h"
#include "weft/formats/npy.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto array = weft::formats::parse_npy({reinterpret_cast<const char*>(data), size}, "fuzz");
    std::size_t expected = weft::formats::dtype_size(array.dtype);
    for (const std::int64_t dimension : array.shape) {
      expected *= static_cast<std::size_t>(dimension);
    }
    if (array.data.size() != expected) {
      std::abort();
    }
  } catch (const weft::Error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) {
      std::abort();
    }
  }
  return 0;
}
