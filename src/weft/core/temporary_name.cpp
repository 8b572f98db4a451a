// SPDX-License-Identifier: Apache-2.0
// Names of things under construction, and the removal of those that a killed process left.
#include "weft/core/temporary_name.h"

#include <atomic>
#include <string>
#include <string_view>
#include <system_error>

#include <unistd.h>

#include "weft/core/files.h"

namespace weft {
namespace {

constexpr std::string_view kSuffix = ".weft-tmp";

}  // namespace

std::filesystem::path temporary_name(const std::filesystem::path& destination) {
  static std::atomic<unsigned> counter{0};
  // A name may have 255 bytes; a long one is cut so that the rest fits.
  const std::string name = destination.filename().native().substr(0, 180);
  const std::string unique = std::to_string(::getpid()) + "-" + std::to_string(counter.fetch_add(1));
  return destination.parent_path() / ("." + name + "." + unique + std::string(kSuffix));
}

bool is_temporary_name(const std::filesystem::path& path) {
  const std::string name = path.filename().native();
  return name.size() > kSuffix.size() && name.front() == '.' && name.ends_with(kSuffix);
}

std::filesystem::path resolve_destination(const std::filesystem::path& path) {
  std::filesystem::path plain = path.has_filename() ? path : path.parent_path();
  std::error_code error;
  if (std::filesystem::is_symlink(plain, error)) {
    // A link that leads nowhere has no target to replace: then the link itself is replaced.
    const std::filesystem::path target = std::filesystem::canonical(plain, error);
    return error ? plain : target;
  }
  return plain;
}

void remove_abandoned_temporaries(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::directory_iterator entries(directory, error);
  if (error) {
    fail_io("read", directory, error.value());
  }
  for (const auto& entry : entries) {
    if (is_temporary_name(entry.path())) {
      std::filesystem::remove_all(entry.path(), error);
      if (error) {
        fail_io("remove", entry.path(), error.value());
      }
    }
  }
}

}  // namespace weft
