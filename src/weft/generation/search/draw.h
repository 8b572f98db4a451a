// SPDX-License-Identifier: Apache-2.0
// From scores to tokens: the likeliest one, a draw, several draws without the same one twice. A draw is a pure function
// of the scores and of what names it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::generation {

/// What names a draw: the same name draws the same.
struct DrawName {
  std::int64_t seed = 0;
  std::int64_t step = 0;  ///< new tokens before this one
  std::int64_t row = 0;   ///< which text of the call
};

/// Numbers of a row that first_part_above() looks at together.
inline constexpr std::size_t kPartOfRow = 64;
/// The part of `row`, from that of `id` (a multiple of kPartOfRow) on, in which a number and `sum` pass `bound`, or are
/// NaN: its first id, or that of a last part that is not whole. Most parts have none, and are looked at without a
/// branch for each number, which a compiler makes many at a time.
std::size_t first_part_above(std::span<const float> row, std::size_t id, float sum, float bound);

/// The token with the highest score, the lowest id of equal ones. Errors: kNumeric for NaN or infinity, or where no
/// score is finite.
std::int64_t likeliest(std::span<const float> scores);

/// The first token, by falling probability and rising id, where the sum of softmax(scores) passes a uniform number of
/// `name`. Errors: as likeliest().
std::int64_t draw(std::span<const float> scores, const DrawName& name);

/// Draws one after the other from softmax(scores), each without those before it: at most `count` indices, and no more
/// than have a probability. Errors: as likeliest().
std::vector<std::int64_t> draw_several(std::span<const float> scores, std::int64_t count, const DrawName& name);

}  // namespace weft::generation
