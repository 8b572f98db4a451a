// SPDX-License-Identifier: Apache-2.0
// A file system takes any bytes for a name; a run's settings are JSON.
#include "weft/training/run/recorded_path.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/text/utf8.h"

namespace weft::training {

std::string recorded_path(const std::filesystem::path& path) {
  std::string whole = path.empty() ? std::string() : std::filesystem::absolute(path).lexically_normal().string();
  if (!text::is_valid_utf8(whole)) {
    throw Error(ErrorKind::kArgument, concat(quote(whole, 4096), " is no UTF-8, in which a run records its paths"),
                "rename it, or give a link to it whose name is UTF-8");
  }
  return whole;
}

void record_paths(std::vector<std::string>& paths) {
  std::transform(paths.begin(), paths.end(), paths.begin(), recorded_path);
}

}  // namespace weft::training
