// SPDX-License-Identifier: Apache-2.0
// A table of byte-pair merges, and a word merged with some of them left out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/text/sampling/drawn_tokens.h"

namespace weft::text {

/// Ids are those of the vocabulary.
class Merges {
 public:
  /// From the "model" of a tokenizer.json of type BPE. Errors: kUnsupported for prefixes or suffixes of words; kFormat
  /// for a merge of what is not in the vocabulary.
  explicit Merges(const formats::Json& model);

  /// The symbols that `id` was merged from, in order; itself where no merge makes it.
  void split(std::int64_t id, std::vector<std::int64_t>& symbols) const;
  /// The symbols merged, the earliest merge first, each left out with probability `dropout` whenever it is its turn.
  std::vector<SizedToken> merge(std::span<const std::int64_t> symbols, double dropout, Draws& draws) const;

 private:
  friend class MergingWord;
  struct Merge {
    std::int64_t rank = 0;
    std::int64_t result = 0;
  };
  const Merge* find(std::int64_t left, std::int64_t right) const;

  std::unordered_map<std::uint64_t, Merge> by_pair_;
  std::unordered_map<std::int64_t, std::pair<std::int64_t, std::int64_t>>
      parts_;  // of the earliest merge that makes it
};

}  // namespace weft::text
