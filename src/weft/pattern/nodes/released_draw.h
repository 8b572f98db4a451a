// SPDX-License-Identifier: Apache-2.0
// The random blocks of the released BigBird code (Zaheer et al. 2020), drawn as that code draws them: NumPy's legacy
// generator seeded with the layer, and two rules, one for the lengths of the paper and one for all others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::pattern {

/// What the plan depends on. Lengths in tokens are `blocks * block`.
struct ReleasedPlan {
  std::int64_t blocks = 0;          ///< of the sequence
  std::int64_t block = 64;          ///< tokens
  std::int64_t random = 3;          ///< blocks that a row draws
  std::int64_t heads = 1;           ///< of the layer: their draws follow each other
  std::uint32_t seed = 0;           ///< the layer's number in the released code
  std::int64_t maximum_blocks = 0;  ///< of the model's maximum length; read at 1,024, 3,072 and 4,096 tokens
  friend bool operator==(const ReleasedPlan&, const ReleasedPlan&) = default;
};

/// Whether the plan is cut from the plan of the model's maximum length: at 1,024, 3,072 and 4,096 tokens.
bool is_cut_from_maximum(const ReleasedPlan& plan);

class ReleasedBlocks {
 public:
  /// Draws the plan. Where the released code finds fewer than `random` blocks and fails, a row gets those it found;
  /// where it finds a single one, NumPy spreads it over the row's places, and so is it here. Errors: kExpression where
  /// the draws would take more than seconds.
  explicit ReleasedBlocks(const ReleasedPlan& plan);

  /// The blocks of a row in the order drawn, with repetitions; empty for the first and the last row.
  std::span<const std::int32_t> row(std::int64_t head, std::int64_t row) const;

 private:
  void allocate();
  void append(std::int64_t head, std::int64_t row, std::int64_t wanted, std::span<const std::int32_t> found);
  void draw_paper();
  void draw_stages();

  ReleasedPlan plan_;
  std::vector<std::int32_t> drawn_;  // [heads][blocks][random]
  std::vector<std::int32_t> count_;  // [heads][blocks]
};

}  // namespace weft::pattern
