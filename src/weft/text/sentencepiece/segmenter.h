// SPDX-License-Identifier: Apache-2.0
// A prepared text cut into pieces of a SentencePiece model: the best path (unigram), merges by score (byte pairs),
// words or characters.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/text/sentencepiece/byte_trie.h"
#include "weft/text/sentencepiece/model.h"

namespace weft::text {

struct Segment {
  std::string_view text;
  std::int32_t id;
};

class SentencePieceSegmenter {
 public:
  /// `model` must outlive this.
  explicit SentencePieceSegmenter(const SentencePieceModel& model);

  /// Segments in order, which together are `text`. Errors: kArgument when overlapping long pieces would take more than
  /// 4,096 steps for each byte of the text.
  std::vector<Segment> operator()(std::string_view text) const;
  /// The user-defined pieces: a text that has one has it whole.
  const ByteTrie& user_defined() const noexcept { return user_defined_; }

 private:
  std::vector<Segment> unigram(std::string_view text) const;
  std::vector<Segment> byte_pairs(std::string_view text) const;
  std::vector<Segment> words(std::string_view text) const;
  std::vector<Segment> characters(std::string_view text) const;
  /// Bytes of the user-defined piece or the character that `text` begins with.
  std::size_t symbol(std::string_view text, bool& whole) const;

  const SentencePieceModel& model_;
  ByteTrie user_defined_;
  ByteTrie trie_;  // unigram: all pieces that a text is made of
  float unknown_score_ = 0;
  float largest_score_ = 0;
};

}  // namespace weft::text
