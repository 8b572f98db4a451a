// SPDX-License-Identifier: Apache-2.0
// The patterns of Python's fnmatch. A name and a pattern may come from elsewhere, so that no pair of them may take
// long: all the places that a reading can have reached move together, 64 of them in a word.
#include "weft/hub/file_patterns.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <iterator>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::hub {
namespace {

constexpr std::size_t kShownFiles = 8;

bool fits_any(const HubFile& file, const std::vector<std::string>& patterns) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return fits_pattern(file.path, pattern); });
}

using Letters = std::bitset<256>;

// Places of a pattern: bit i says that its first i parts have been read.
using Places = std::vector<std::uint64_t>;

constexpr std::size_t kWordBits = 64;

void add_place(Places& places, std::size_t place) {
  places[place / kWordBits] |= std::uint64_t{1} << (place % kWordBits);
}

bool has_place(const Places& places, std::size_t place) {
  return (places[place / kWordBits] >> (place % kWordBits) & 1U) != 0;
}

// A pattern as parts that each stand for one letter, and the places where a star lets any letters pass.
struct Parts {
  std::vector<Letters> letters = {};    // that each part fits
  std::vector<std::size_t> stars = {};  // places

  Places places() const { return Places(letters.size() / kWordBits + 1); }
};

// Where the set that begins at pattern[at] ends, behind its bracket; npos where no bracket closes it. A bracket that
// comes first in a set belongs to it.
std::size_t end_of_set(std::string_view pattern, std::size_t at) {
  const std::size_t first = at + 1 + (pattern.substr(at + 1).starts_with('!') ? 1 : 0);
  const std::size_t close = pattern.find(']', first + 1);
  return close == std::string_view::npos ? close : close + 1;
}

// The letters of the set [abc], [a-c] or [!abc].
Letters letters_of_set(std::string_view set) {
  set = set.substr(1, set.size() - 2);
  const bool without = set.starts_with('!');
  set.remove_prefix(without ? 1 : 0);
  Letters letters;
  while (!set.empty()) {
    const bool range = set.size() > 2 && set[1] == '-';
    const auto high = static_cast<unsigned char>(range ? set[2] : set[0]);
    for (std::size_t letter = static_cast<unsigned char>(set[0]); letter <= high; ++letter) {
      letters.set(letter);
    }
    set.remove_prefix(range ? 3 : 1);
  }
  return without ? ~letters : letters;
}

Parts parts_of(std::string_view pattern) {
  Parts parts;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t end = pattern[at] == '[' ? end_of_set(pattern, at) : std::string_view::npos;
    if (pattern[at] == '*') {
      parts.stars.push_back(parts.letters.size());
    } else if (end != std::string_view::npos) {
      parts.letters.push_back(letters_of_set(pattern.substr(at, end - at)));
    } else {
      const auto letter = static_cast<unsigned char>(pattern[at]);
      parts.letters.push_back(letter == '?' ? ~Letters() : Letters().set(letter));
    }
    at = end != std::string_view::npos ? end : at + 1;
  }
  return parts;
}

// The places whose next part fits `letter`.
Places places_before(const Parts& parts, unsigned char letter) {
  Places places = parts.places();
  for (std::size_t part = 0; part < parts.letters.size(); ++part) {
    if (parts.letters[part][letter]) {
      add_place(places, part);
    }
  }
  return places;
}

}  // namespace

bool fits_pattern(std::string_view path, std::string_view pattern) {
  const Parts parts = parts_of(concat(pattern, pattern.ends_with('/') ? "*" : ""));
  Places stars = parts.places();
  for (const std::size_t star : parts.stars) {
    add_place(stars, star);
  }
  std::array<Places, 256> before;  // for the letters that the path has
  Places reached = parts.places();
  add_place(reached, 0);
  for (const char c : path) {
    const auto letter = static_cast<unsigned char>(c);
    if (before[letter].empty()) {
      before[letter] = places_before(parts, letter);
    }
    std::uint64_t carried = 0;
    for (std::size_t word = 0; word < reached.size(); ++word) {
      const std::uint64_t read = reached[word] & before[letter][word];
      reached[word] = (reached[word] & stars[word]) | read << 1U | carried;
      carried = read >> (kWordBits - 1);
    }
  }
  return has_place(reached, parts.letters.size());
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
