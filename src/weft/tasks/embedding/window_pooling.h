// SPDX-License-Identifier: Apache-2.0
// One vector for a text out of its tokens' vectors, also where several windows have them. Sums are in float64, so that
// the mean of 16,384 tokens is as exact as that of one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/checkpoint/sentence/sentence_modules.h"

namespace weft::tasks {

/// A window's token vectors, and which of them count.
struct WindowRows {
  std::span<const float> hidden;  ///< [tokens, width], row-major, without padding
  std::int64_t width = 0;
  std::int64_t first = 0;  ///< rows before it are a prompt that does not count
  std::int64_t begin = 0;  ///< rows [begin, end) count in this window, and in no other one of the text
  std::int64_t end = 0;
  std::int64_t place = 0;  ///< of row 0 in the whole text
};

/// What a window brings to the vector of its text in one mode: a weighted sum, or the largest values.
struct WindowPart {
  std::vector<double> values;
  double weight = 0.0;  ///< 0: none of its rows counts
};

/// Adds a row to a part, which is empty at first; `place` is the row's own in what is pooled, from 0. Of cls the first
/// row stays, of lasttoken the last one.
void add_row(WindowPart& part, std::span<const float> row, checkpoint::PoolingMode mode, std::int64_t place);

/// Of max, mean, mean_sqrt_len_tokens and weightedmean the rows [begin, end), the first `first` left out; of cls the
/// row `first`; of lasttoken the last row. Errors: kArgument for `hidden` without a whole row.
WindowPart window_part(const WindowRows& rows, checkpoint::PoolingMode mode);

/// The text's vector out of its windows' parts, in the order of the text. Errors: kArgument where no row counts.
std::vector<double> join_parts(std::span<const WindowPart> parts, checkpoint::PoolingMode mode);

}  // namespace weft::tasks
