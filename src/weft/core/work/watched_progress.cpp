// SPDX-License-Identifier: Apache-2.0
// The bar first: it shows the last state that there was.
#include "weft/core/work/watched_progress.h"

#include "weft/core/error.h"

namespace weft {

std::function<void(std::int64_t done, std::int64_t total)> WatchedProgress::callback() {
  return [this](std::int64_t done, std::int64_t total) {
    bar_.update(static_cast<double>(done) / static_cast<double>(total));
    if (interrupted()) {
      fail(ErrorKind::kInterrupted, "stopped after ", done, " of ", total, " ", unit_);
    }
  };
}

}  // namespace weft
