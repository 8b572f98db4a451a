// SPDX-License-Identifier: Apache-2.0
// How each token of a text fares under a decoder: with its place in the text, so that a reader can ask about names,
// numbers or any other part of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/text/encoding.h"
#include "weft/text/tokenizer.h"

namespace weft::training {

/// The places are the token's first byte in the text and the byte after its last one.
struct TokenScore {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  double bits = 0.0;
  bool hit = false;  ///< no other token had a higher score: greedy decoding would have written this one
};

using OnTokenScore = std::function<void(const TokenScore& score)>;

/// The bytes of each token that `tokenizer` makes of `text`. Errors: kUnsupported for a SentencePiece .model file,
/// whose tokens do not tell their places.
std::vector<text::Span> token_places(const text::Tokenizer& tokenizer, std::string_view text);

/// Passes scores on in the order of the text.
class TokenReport {
 public:
  TokenReport() = default;  ///< one that passes on nothing
  TokenReport(std::vector<text::Span> places, OnTokenScore on_score);

  /// Scores of the tokens that follow those of the last call, [B, N] each: nats, whether the label had the highest
  /// score, and the labels, data::kIgnoredLabel where nothing is scored.
  void add(const at::Tensor& nats, const at::Tensor& hits, const at::Tensor& labels);

 private:
  std::vector<text::Span> places_;
  OnTokenScore on_score_;
  std::size_t next_ = 1;  // nothing precedes token 0, which has no score
};

}  // namespace weft::training
