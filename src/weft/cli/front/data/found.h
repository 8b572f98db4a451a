// SPDX-License-Identifier: Apache-2.0
// What a command of `weft data` says where the files that were named have nothing for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::cli {

/// Errors: kFormat, "'a.csv' holds no record", where `found` is nothing; `what` is its name.
inline void require_found(std::int64_t found, const std::vector<std::string>& paths, std::string_view what) {
  if (found > 0) {
    return;
  }
  const bool is_one = paths.size() == 1;
  const std::string more = is_one ? std::string() : concat(" and the ", paths.size() - 1, " named behind it");
  fail(ErrorKind::kFormat, quote(paths.front(), 4096), more, is_one ? " holds no " : " hold no ", what);
}

}  // namespace weft::cli
