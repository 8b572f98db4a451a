// SPDX-License-Identifier: Apache-2.0
// A text of any length scored through windows of a model's context: each token but the first exactly once, with at
// least half a context before it where the text has it. Each token's score can be had with its place in the text, so
// that a reader can ask about names, numbers or any other part of it.
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

/// How a text is cut, and how much of it is in flight.
struct WindowOptions {
  std::int64_t context = 0;                                                  ///< tokens the model sees at once
  std::int64_t batch_tokens = 16384;                                         ///< tokens in flight; at least one window
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};  ///< in tokens; may throw to stop
  std::int64_t share = 0;  ///< only batches share, share + shares, ...
  std::int64_t shares = 1;
};

/// Inputs and labels int64 [B, N] -> nats [B, N], 0 where a label is data::kIgnoredLabel.
using TokenLosses = std::function<at::Tensor(const at::Tensor& input_ids, const at::Tensor& labels)>;

/// The summed nats of tokens 1 to the last of `ids`, int64 [n], or of one share of them. Errors: kArgument for fewer
/// than two tokens or a context below 1; kNumeric when a loss is not finite.
double summed_nats(const TokenLosses& losses, const at::Tensor& ids, const WindowOptions& options);

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
