// SPDX-License-Identifier: Apache-2.0
// Wheels lie in lib/python3.N/site-packages, Debian's own Python looks in dist-packages.
#include "weft/cli/front/libtorch_folders.h"

#include <algorithm>
#include <string>
#include <system_error>

#include "weft/core/environment.h"

namespace weft::cli {
namespace {

using std::filesystem::path;

// The folders of torch below `prefix`, the newest Python first.
std::vector<path> below_python(const path& prefix) {
  std::vector<path> folders;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(prefix / "lib", error)) {
    if (entry.path().filename().string().starts_with("python3")) {
      folders.push_back(entry.path() / "site-packages/torch/lib");
      folders.push_back(entry.path() / "dist-packages/torch/lib");
    }
  }
  std::sort(folders.rbegin(), folders.rend());
  return folders;
}

}  // namespace

std::vector<path> libtorch_folders() {
  std::vector<path> places;
  if (const std::string named = environment("WEFT_LIBTORCH").value_or(""); !named.empty()) {
    places = {named, path(named) / "lib"};
  } else {
    for (const path& prefix : {path(environment("VIRTUAL_ENV").value_or("")),
                               path(environment("HOME").value_or("")) / ".local", path("/usr/local")}) {
      const std::vector<path> found = prefix.is_absolute() ? below_python(prefix) : std::vector<path>();
      places.insert(places.end(), found.begin(), found.end());
    }
  }
  std::erase_if(places, [](const path& folder) {
    std::error_code error;
    return !std::filesystem::exists(folder / "libtorch_cpu.so", error);
  });
  return places;
}

}  // namespace weft::cli
