// SPDX-License-Identifier: Apache-2.0
// Environment variables.
#include "weft/core/environment.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft {

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

bool is_true(std::string_view value) noexcept {
  // By hand: the C library's toupper follows the locale.
  const auto equals = [value](std::string_view word) {
    return std::equal(value.begin(), value.end(), word.begin(), word.end(), [](char left, char right) {
      return (left >= 'a' && left <= 'z' ? static_cast<char>(left - 'a' + 'A') : left) == right;
    });
  };
  return equals("1") || equals("ON") || equals("YES") || equals("TRUE");
}

bool environment_is_true(const std::string& name) {
  const std::optional<std::string> value = environment(name);
  return value && is_true(*value);
}

std::optional<std::filesystem::path> cache_directory() {
  if (std::string chosen = environment("WEFT_CACHE").value_or(""); !chosen.empty()) {
    return chosen;
  }
  // The specification of XDG_CACHE_HOME ignores a relative path.
  const std::filesystem::path shared = environment("XDG_CACHE_HOME").value_or("");
  if (shared.is_absolute()) {
    return shared / "weft";
  }
  const std::string home = environment("HOME").value_or("");
  return home.empty() ? std::nullopt : std::optional(std::filesystem::path(home) / ".cache/weft");
}

std::filesystem::path temporary_directory() {
  const std::string chosen = environment("TMPDIR").value_or("");
  const std::filesystem::path folder = chosen.empty() ? "/tmp" : chosen;
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw Error(ErrorKind::kIo,
                concat("cannot make a temporary file: the folder ", quote(folder.native(), 4096),
                       chosen.empty() ? "" : ", which TMPDIR names,", " is not there",
                       error && error != std::errc::no_such_file_or_directory ? ": " + error.message() : ""),
                "set TMPDIR to a folder that may be written");
  }
  return folder;
}

}  // namespace weft
