// SPDX-License-Identifier: Apache-2.0
// What a family's config cannot say.
#pragma once

#include "weft/core/error.h"

namespace weft::models {

/// Throws Error(kUnsupported) with the concatenated message unless `holds`.
template <typename... Parts>
void require_supported(bool holds, const Parts&... parts) {
  if (!holds) {
    fail(ErrorKind::kUnsupported, parts...);
  }
}

}  // namespace weft::models
