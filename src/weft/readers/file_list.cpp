// SPDX-License-Identifier: Apache-2.0
// Walking folders in an order that does not depend on the file system.
#include "weft/readers/file_list.h"

#include <algorithm>
#include <system_error>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"

namespace weft::readers {
namespace {

namespace fs = std::filesystem;

std::string named(const fs::path& path) { return quote(path.native(), 4096); }

bool hidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> found;
  try {
    for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::recursive_directory_iterator(); ++entry) {
      if (hidden(entry->path())) {
        entry.disable_recursion_pending();
      } else if (entry->is_regular_file()) {
        found.push_back(entry->path());
      }
    }
  } catch (const fs::filesystem_error& error) {
    fail(ErrorKind::kIo, "cannot read the folder ", named(error.path1().empty() ? folder : error.path1()), ": ",
         error.code().message());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::vector<fs::path> list_files(const std::vector<std::string>& paths) {
  require(!paths.empty(), "no text was given: expected files or folders");
  std::vector<fs::path> files;
  for (const fs::path path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (path.filename() == "-" && !fs::exists(status)) {
      throw Error(ErrorKind::kIo,
                  concat("cannot read ", named(path), ": there is no such file, and standard input is not read here"),
                  "save what it holds in a file, and name that");
    }
    if (!fs::exists(status)) {
      fail(ErrorKind::kIo, "cannot read ", named(path), ": ", error ? error.message() : "No such file or directory");
    }
    if (fs::is_directory(status)) {
      const std::vector<fs::path> below = files_below(path);
      files.insert(files.end(), below.begin(), below.end());
    } else {
      files.push_back(path);
    }
  }
  return files;
}

}  // namespace weft::readers
