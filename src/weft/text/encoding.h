// SPDX-License-Identifier: Apache-2.0
// What tokenising a text, or a pair of texts, gives for a model: ids with everything that leads back to the text.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::text {

struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const Span&) const = default;
};

/// One window; all lists have one element a token. Nothing is padded, so that an attention mask would be all ones.
struct Encoding {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> type_ids;      ///< `token_type_ids`
  std::vector<std::int64_t> special_mask;  ///< 1 for tokens that the tokeniser put around the texts
  std::vector<Span> offsets;               ///< in code points of the text it came from; 0 to 0 for special tokens
  std::vector<Span> byte_offsets;          ///< the same in bytes
  std::vector<std::int64_t> words;         ///< number of the word in its text, -1 for special tokens
  std::vector<std::int64_t> sequences;     ///< 0 for the first text, 1 for the second, -1 for special tokens
};

/// What gives way when texts are too long, named as in `transformers`.
enum class Truncation { kLongestFirst, kOnlyFirst, kOnlySecond };

struct EncodeOptions {
  bool special_tokens = true;
  std::int64_t max_length = 0;  ///< of a window with its special tokens; 0 for no limit
  std::int64_t stride = 0;      ///< tokens that a window shares with the one before it
  Truncation truncation = Truncation::kLongestFirst;
};

}  // namespace weft::text
