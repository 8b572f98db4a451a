// SPDX-License-Identifier: Apache-2.0
// Any bytes as a picture: one-line errors, and pictures that have as many bytes as their shape says and can be written.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "fuzz/support/memory_file.h"
#include "weft/readers/media/picture.h"
#include "weft/readers/media/png.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::fuzz::MemoryFile file(data, size);
  weft::fuzz::check_reader([&](const weft::readers::ReadOptions& options) {
    return std::make_unique<weft::readers::PictureReader>(file.path(), options);
  });
  try {
    weft::readers::PictureReader reader(file.path());
    weft::readers::Picture picture;
    if (reader.next(picture) && picture.bytes.size() < 100000 && weft::readers::png_of(picture).empty()) {
      std::abort();
    }
  } catch (const weft::Error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) {
      std::abort();
    }
  }
  return 0;
}
