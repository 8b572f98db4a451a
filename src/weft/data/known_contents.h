// SPDX-License-Identifier: Apache-2.0
// What files held when they were first read, so that one that was only touched, or written again with the same bytes,
// is known for the same.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>

namespace weft::data {

/// Digests of files (core/disk/digest.h), to be asked from several threads at once.
class KnownContents {
 public:
  /// Reads the file whole, unless it is known. Errors: kIo.
  void remember(const std::filesystem::path& path);

  /// Whether the file, last written at `modified` (the system's nanoseconds), still holds what it held when it was
  /// remembered; false for one that never was. Reads it whole, once for each time of writing. Errors: kIo.
  bool still_holds(const std::filesystem::path& path, std::int64_t modified);

 private:
  struct Known {
    std::string digest;
    std::int64_t modified = -1;  ///< when the content was last found to be the same; -1 for not yet
  };

  std::mutex mutex_;
  std::map<std::filesystem::path, Known> files_;
};

}  // namespace weft::data
