// SPDX-License-Identifier: Apache-2.0
// Threads that find a file written wait for the one that reads it.
#include "weft/data/known_contents.h"

#include "weft/core/disk/digest.h"

namespace weft::data {

void KnownContents::remember(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex_);
  if (!files_.contains(path)) {
    files_[path] = {digest_of_file(named_by_user(path))};
  }
}

bool KnownContents::still_holds(const std::filesystem::path& path, std::int64_t modified) {
  const std::lock_guard lock(mutex_);
  const auto known = files_.find(path);
  if (known == files_.end()) {
    return false;
  }
  if (known->second.modified != modified && digest_of_file(named_by_user(path)) == known->second.digest) {
    known->second.modified = modified;
  }
  return known->second.modified == modified;
}

}  // namespace weft::data
