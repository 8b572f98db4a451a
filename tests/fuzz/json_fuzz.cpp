// SPDX-License-Identifier: Apache-2.0
// Any bytes as JSON: either a one-line error, or a document that reads the same after it is printed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "weft/core/error.h"
#include "weft/formats/config_json.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const weft::formats::Json json = weft::formats::parse_json(text, "fuzz");
    if (weft::formats::parse_json(weft::formats::print_json(json), "fuzz") != json) {
      std::abort();
    }
  } catch (const weft::Error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) {
      std::abort();
    }
  }
  return 0;
}
