// SPDX-License-Identifier: Apache-2.0
// Answers that stand in the texts of a row: where they are spelled, which span is surest, and the loss of a start or an
// end that may be any of several (Clark and Gardner 2018; Zaheer et al. 2020, appendix E).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/text/encoding.h"

namespace weft::fine_tuning {

/// A text in a row: an answer lies in one.
struct RowPart {
  std::string text;
  std::int64_t begin = 0;                ///< its first token in the row
  std::int64_t from = 0;                 ///< the byte of a longer text at which `text` begins
  std::vector<text::Span> bytes = {};    ///< of each of its tokens, in `text`
  std::vector<std::int32_t> words = {};  ///< of each token the number of its word; words have white space between them

  std::int64_t end() const noexcept { return begin + std::ssize(bytes); }
};

/// A part of which the tokens are in the row from `begin` on.
RowPart row_part(std::string text, const text::Encoding& tokens, std::int64_t begin);

/// The part of `document`, the second text of a pair, that a window shows; empty where it shows none.
RowPart shown_part(const text::Encoding& window, const std::string& document);

/// Tokens of a row, both ends in it.
struct TokenSpan {
  std::int64_t first = 0;
  std::int64_t last = 0;
  auto operator<=>(const TokenSpan&) const = default;
};

/// The tokens that show bytes of the part's text; nothing where no token does.
std::optional<TokenSpan> tokens_at(const RowPart& part, text::Span bytes);

/// The part without the tokens before and behind `tokens`, which are some of its own; its text is the same.
RowPart cut_part(const RowPart& part, const TokenSpan& tokens);

/// Where `answer` is spelled in the part, byte by byte and with no letter or digit of ASCII beside it. None for an
/// empty answer.
std::vector<TokenSpan> spelled_at(const RowPart& part, std::string_view answer);

/// The span with the largest sum of its start's and its end's logit.
struct BestSpan {
  std::size_t part = 0;
  text::Span bytes = {};  ///< in that part's text, without white space at its ends
  double score = 0.0;
};
/// Of spans of at most `most_words` words; both logits [tokens of the row]. Nothing where no part has a token.
std::optional<BestSpan> best_span(std::span<const float> starts, std::span<const float> ends,
                                  std::span<const RowPart> parts, std::int64_t most_words);

/// -log of the probability that a softmax over the kept tokens gives to `places` together, mean over the rows that have
/// any; 0 without one. logits [rows, N]; keep bool [rows, N], or undefined: all; places of each row.
at::Tensor any_place_loss(const at::Tensor& logits, const at::Tensor& keep,
                          std::span<const std::vector<std::int64_t>> places);

}  // namespace weft::fine_tuning
