// SPDX-License-Identifier: Apache-2.0
// One table of numbers for each order, that of the order before it extended by a symbol.
#include "weft/metrics/translation/gram_counts.h"

#include <algorithm>

namespace weft::metrics {
namespace {

// Numbers pairs in the order in which they come.
class PairTable {
 public:
  std::uint32_t number(std::uint32_t first, std::uint32_t second) {
    const std::uint64_t key = (std::uint64_t{first} << 32) | second;
    return numbers_.try_emplace(key, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
};

GramCounts counted(const Symbols& grams) {
  GramCounts result;
  result.total = static_cast<std::int64_t>(grams.size());
  for (const std::uint32_t gram : grams) {
    if (gram >= result.counts.size()) {
      result.counts.resize(std::max<std::size_t>(gram + std::size_t{1}, 2 * result.counts.size()));
    }
    ++result.counts[gram];
  }
  return result;
}

}  // namespace

Symbols SymbolTable::number(std::span<const std::string_view> words) {
  Symbols symbols;
  symbols.reserve(words.size());
  for (const std::string_view word : words) {
    symbols.push_back(numbers_.try_emplace(word, static_cast<std::uint32_t>(numbers_.size())).first->second);
  }
  return symbols;
}

std::vector<std::vector<GramCounts>> count_grams(std::span<const Symbols> texts, std::int64_t orders) {
  std::vector<Symbols> grams(texts.begin(), texts.end());
  std::vector<std::vector<GramCounts>> result;
  for (std::int64_t order = 1; order <= orders; ++order) {
    PairTable pairs;
    for (std::size_t text = 0; text < texts.size(); ++text) {
      // grams[i] becomes the n-gram that begins at i; the last (n-1)-gram begins none. Symbols may be any numbers, and
      // are numbered here too.
      const std::size_t length = grams[text].size() - (order > 1 && !grams[text].empty() ? 1 : 0);
      for (std::size_t i = 0; i < length; ++i) {
        const std::uint32_t last = texts[text][i + static_cast<std::size_t>(order) - 1];
        grams[text][i] = pairs.number(order == 1 ? 0 : grams[text][i], last);
      }
      grams[text].resize(length);
    }
    std::vector<GramCounts>& counts = result.emplace_back();
    for (const Symbols& text : grams) {
      counts.push_back(counted(text));
    }
  }
  return result;
}

std::int64_t common_grams(const GramCounts& first, const GramCounts& second) noexcept {
  const std::size_t both = std::min(first.counts.size(), second.counts.size());
  std::int64_t common = 0;
  for (std::size_t gram = 0; gram < both; ++gram) {
    common += std::min(first.counts[gram], second.counts[gram]);
  }
  return common;
}

}  // namespace weft::metrics
