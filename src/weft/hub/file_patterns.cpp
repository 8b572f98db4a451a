// SPDX-License-Identifier: Apache-2.0
// The patterns of Python's fnmatch. Names come from elsewhere, so that a pattern with many stars must not take long: a
// star that has found its place gives way to no earlier one (at most pattern times path steps).
#include "weft/hub/file_patterns.h"

#include <algorithm>
#include <iterator>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::hub {
namespace {

constexpr std::size_t kShownFiles = 8;

bool fits_any(const HubFile& file, const std::vector<std::string>& patterns) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return fits_pattern(file.path, pattern); });
}

// Where the set that begins at pattern[at] ends, behind its bracket; npos where no bracket closes it. A bracket that
// comes first in a set belongs to it.
std::size_t end_of_set(std::string_view pattern, std::size_t at) {
  const std::size_t first = at + 1 + (pattern.substr(at + 1).starts_with('!') ? 1 : 0);
  const std::size_t close = pattern.find(']', first + 1);
  return close == std::string_view::npos ? close : close + 1;
}

// Whether `letter` is in the set [abc], [a-c] or [!abc].
bool is_in_set(std::string_view set, char letter) {
  set = set.substr(1, set.size() - 2);
  const bool without = set.starts_with('!');
  set.remove_prefix(without ? 1 : 0);
  bool found = false;
  while (!set.empty()) {
    const bool range = set.size() > 2 && set[1] == '-';
    const auto value = static_cast<unsigned char>(letter);
    const auto low = static_cast<unsigned char>(set[0]);
    const auto high = static_cast<unsigned char>(range ? set[2] : set[0]);
    found = found || (low <= value && value <= high);
    set.remove_prefix(range ? 3 : 1);
  }
  return found != without;
}

// Length of the part of the pattern that stands for one character at `at`, if `letter` fits it; else 0.
std::size_t one_fits(std::string_view pattern, std::size_t at, char letter) {
  if (at >= pattern.size()) {
    return 0;
  }
  const std::size_t end = pattern[at] == '[' ? end_of_set(pattern, at) : std::string_view::npos;
  if (end != std::string_view::npos) {
    return is_in_set(pattern.substr(at, end - at), letter) ? end - at : 0;
  }
  return pattern[at] == '?' || pattern[at] == letter ? 1 : 0;
}

}  // namespace

bool fits_pattern(std::string_view path, std::string_view pattern) {
  const std::string whole = concat(pattern, pattern.ends_with('/') ? "*" : "");
  std::size_t at = 0;                         // in the pattern
  std::size_t star = std::string_view::npos;  // behind the last one
  std::size_t behind = 0;                     // the first letter that this star leaves to the rest
  for (std::size_t letter = 0; letter < path.size();) {
    if (at < whole.size() && whole[at] == '*') {
      star = ++at;
      behind = letter;
    } else if (const std::size_t taken = one_fits(whole, at, path[letter]); taken > 0) {
      at += taken;
      ++letter;
    } else if (star != std::string_view::npos) {
      at = star;
      letter = ++behind;
    } else {
      return false;
    }
  }
  return whole.find_first_not_of('*', at) == std::string::npos;
}

std::vector<HubFile> included_files(const std::vector<HubFile>& files, const FilePatterns& patterns,
                                    const std::string& model) {
  std::vector<HubFile> included;
  std::ranges::copy_if(files, std::back_inserter(included),
                       [&](const HubFile& file) { return fits_any(file, patterns.include); });
  included = without_excluded(std::move(included), patterns);
  if (included.empty()) {
    std::vector<std::string> names;
    std::ranges::transform(files, std::back_inserter(names), &HubFile::path);
    fail(ErrorKind::kFormat, "no file of the repository ", quote(model), " fits the patterns: found ",
         names.empty() ? "no file" : quoted_list(names, kShownFiles));
  }
  std::ranges::stable_sort(included, {}, &HubFile::size);
  return included;
}

std::vector<HubFile> without_excluded(std::vector<HubFile> files, const FilePatterns& patterns) {
  std::erase_if(files, [&](const HubFile& file) { return fits_any(file, patterns.exclude); });
  return files;
}

}  // namespace weft::hub
