// SPDX-License-Identifier: Apache-2.0
// Patterns that papers published, as the workbench of the page offers them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace weft::page {

struct GalleryPattern {
  std::string_view title;
  std::string_view about;  ///< one line, with the source
  std::string_view expression;
  std::int64_t length = 0;
  std::int64_t heads = 1;
  std::string_view input = {};  ///< positions of `input`, "0,5"
};

std::span<const GalleryPattern> pattern_gallery();

}  // namespace weft::page
