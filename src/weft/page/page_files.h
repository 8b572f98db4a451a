// SPDX-License-Identifier: Apache-2.0
// The files of the page of `weft serve`, inside the program.
#pragma once

#include <string_view>
#include <vector>

namespace weft::page {

struct PageFile {
  std::string_view path;  ///< "/page.css"
  std::string_view type;
  std::string_view content;
};

/// All of them; "/" is the first.
std::vector<PageFile> page_files();

}  // namespace weft::page
