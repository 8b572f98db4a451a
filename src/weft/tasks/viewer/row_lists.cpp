// SPDX-License-Identifier: Apache-2.0
// A key and its weight take eight bytes.
#include "weft/tasks/viewer/row_lists.h"

#include <algorithm>

namespace weft::tasks {
namespace {

constexpr std::int64_t kBytesOfKey = 8;

}  // namespace

std::optional<ShorterLists> shorten_lists(AttentionView& view, std::int64_t most) {
  std::int64_t bytes = 0;
  std::int64_t bytes_of_one = 0;  // with one key in each list
  for (const ViewedPart& part : view.parts) {
    for (const ViewedHead& head : part.heads) {
      bytes += head.picture.top_key.numel() * kBytesOfKey;
      bytes_of_one += head.picture.top_key.size(1) > 0 ? head.picture.top_key.size(0) * kBytesOfKey : 0;
    }
  }
  if (bytes <= most) {
    return std::nullopt;
  }
  const std::int64_t top = most / bytes_of_one;
  for (ViewedPart& part : view.parts) {
    for (ViewedHead& head : part.heads) {
      const std::int64_t kept = std::min(top, head.picture.top_key.size(1));
      head.picture.top_key = head.picture.top_key.narrow(1, 0, kept);
      head.picture.top_weight = head.picture.top_weight.narrow(1, 0, kept);
    }
  }
  return ShorterLists{bytes, top};
}

}  // namespace weft::tasks
