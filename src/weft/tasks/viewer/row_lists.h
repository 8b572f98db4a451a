// SPDX-License-Identifier: Apache-2.0
// The lists of the strongest keys of all rows, where all of them are too heavy for one page.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/tasks/viewer/attention_view.h"

namespace weft::tasks {

/// What became of the lists: those that were asked for take `bytes` before they are compressed, and `top` keys of each
/// row are left.
struct ShorterLists {
  std::int64_t bytes;
  std::int64_t top;
};

/// Shortens the lists of all rows to the strongest keys that fit into `most` bytes, all alike; nothing where they fit.
std::optional<ShorterLists> shorten_lists(AttentionView& view, std::int64_t most);

}  // namespace weft::tasks
