// SPDX-License-Identifier: Apache-2.0
// A table of 256 characters; 0 for those that are no base.
#include "weft/readers/genomes/reverse_complement.h"

#include <array>
#include <cstddef>

#include "weft/core/quote.h"
#include "weft/readers/reader.h"

namespace weft::readers {
namespace {

constexpr char lower(char letter) { return static_cast<char>(letter - 'A' + 'a'); }

constexpr std::array<char, 256> opposite_bases() {
  std::array<char, 256> table{};
  const auto set = [&table](char one, char other) { table[static_cast<unsigned char>(one)] = other; };
  constexpr std::string_view kPairs = "ATCGRYKMBVDHSSWWNN";
  for (std::size_t i = 0; i < kPairs.size(); i += 2) {
    const char one = kPairs[i];
    const char other = kPairs[i + 1];
    set(one, other);
    set(other, one);
    set(lower(one), lower(other));
    set(lower(other), lower(one));
  }
  for (const char kept : std::string_view("- \t\r\n")) {
    set(kept, kept);
  }
  return table;
}

}  // namespace

std::string reverse_complement(std::string_view sequence, const std::string& place) {
  static constexpr std::array<char, 256> kOpposite = opposite_bases();
  std::string other(sequence.size(), ' ');
  auto place_of_opposite = other.rbegin();
  for (const char& letter : sequence) {
    const char base = kOpposite[static_cast<unsigned char>(letter)];
    if (base == 0) {
      malformed(place, ": the other strand is of DNA alone, expected letters such as A, C, G, T and N, found ",
                quote(std::string_view(&letter, 1)));
    }
    *place_of_opposite++ = base;
  }
  return other;
}

}  // namespace weft::readers
