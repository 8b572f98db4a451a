// SPDX-License-Identifier: Apache-2.0
// The site of most tests of patterns: as many queries as keys.
#pragma once

#include <cstdint>

#include "weft/pattern/pattern.h"

namespace weft::test {

inline pattern::Site square(std::int64_t length, std::int64_t heads = 1) {
  pattern::Site site;
  site.query_length = length;
  site.key_length = length;
  site.heads = heads;
  return site;
}

}  // namespace weft::test
