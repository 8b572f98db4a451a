// SPDX-License-Identifier: Apache-2.0
// A SentencePiece model at work: a text in pieces, and pieces as text again. Pieces are texts, because some families
// number them by tables of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/text/sentencepiece/byte_trie.h"
#include "weft/text/sentencepiece/model.h"
#include "weft/text/sentencepiece/normalizer.h"
#include "weft/text/sentencepiece/segmenter.h"

namespace weft::text {

class SentencePieceProcessor {
 public:
  /// `file` is the content of a `.model` file, `where` its name in messages. Errors: kFormat.
  SentencePieceProcessor(std::string file, std::string where);
  SentencePieceProcessor(const SentencePieceProcessor&) = delete;
  SentencePieceProcessor& operator=(const SentencePieceProcessor&) = delete;

  /// A piece, with the model's own id. A run of unknown characters is one piece with their text and the unknown id, or
  /// the pieces of its bytes where the model has those.
  using Take = std::function<void(std::string_view piece, std::int32_t id)>;
  /// Calls `take` for each piece of any text in order. Errors: kArgument naming the model, for rules that would make
  /// the text much larger, too many steps, or 2 GiB of text.
  void encode(std::string_view text, const Take& take) const;
  /// The text of pieces, as the library of that name joins them: those that the model lacks stay as they are, control
  /// pieces vanish, a blank at the start that encoding puts there goes. `at(i)` gives piece i of `count`.
  std::string decode(std::size_t count, const std::function<std::string_view(std::size_t)>& at) const;

  const SentencePieceModel& model() const noexcept { return model_; }
  /// The bytes of the model's file.
  const std::string& file() const noexcept { return file_; }

 private:
  void put_unknown(std::string_view run, const Take& take) const;

  std::string where_;
  std::string file_;
  SentencePieceModel model_;
  SentencePieceSegmenter segmenter_;
  SentencePieceNormalizer normalize_;
  ByteTrie no_pieces_;
  SentencePieceNormalizer denormalize_;
};

}  // namespace weft::text
