// SPDX-License-Identifier: Apache-2.0
// How often each n-gram stands in each of a few texts that are compared: a hypothesis and its references.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weft::metrics {

/// A text as numbers; equal words, or letters, have equal numbers.
using Symbols = std::vector<std::uint32_t>;

/// Gives words their numbers, from 0 on in the order in which they come.
class SymbolTable {
 public:
  /// The words outlive the table.
  Symbols number(std::span<const std::string_view> words);
  std::size_t size() const noexcept { return numbers_.size(); }

 private:
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

/// The n-grams of one order in one text.
struct GramCounts {
  std::vector<std::int64_t> counts;  ///< by the n-gram's number, which all texts share; shorter where the rest is 0
  std::int64_t total = 0;            ///< n-grams in the text

  std::int64_t of(std::size_t gram) const noexcept { return gram < counts.size() ? counts[gram] : 0; }
};

/// The n-grams of `texts` of every order from 1 to `orders`: result[order - 1][text]. Nothing is hashed to a number
/// that another n-gram has: an n-gram is the pair of an (n-1)-gram's number and a symbol.
std::vector<std::vector<GramCounts>> count_grams(std::span<const Symbols> texts, std::int64_t orders);

/// The n-grams that both texts have, each as often as the one that has it less often.
std::int64_t common_grams(const GramCounts& first, const GramCounts& second) noexcept;

}  // namespace weft::metrics
