// SPDX-License-Identifier: Apache-2.0
// The two rules of the released code. The order of the draws is part of the plan: each permutation moves the generator
// on, also for rows that are cut away afterwards.
#include "weft/pattern/nodes/released_draw.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>

#include "weft/core/error.h"

namespace weft::pattern {
namespace {

constexpr std::int64_t kPaperTokens = 1024;                     // whose blocks the plans of the paper draw from
constexpr std::int64_t kMaximumWork = std::int64_t{1} << 29;    // permuted blocks: about a second
constexpr std::int64_t kMaximumPlaces = std::int64_t{1} << 25;  // 128 MB

using Blocks = std::vector<std::int32_t>;

/// numpy.random.RandomState(seed): std::mt19937 is its MT19937 with init_genrand.
class LegacyGenerator {
 public:
  explicit LegacyGenerator(std::uint32_t seed) : engine_(seed) {}

  /// numpy's permutation: a shuffle from the end, each place by masked rejection.
  void permute(Blocks& blocks) {
    for (std::size_t i = blocks.size(); i-- > 1;) {
      const auto last = static_cast<std::uint32_t>(i);
      const std::uint32_t mask = std::bit_ceil(last + 1) - 1;
      std::uint32_t place = 0;
      do {
        place = static_cast<std::uint32_t>(engine_()) & mask;
      } while (place > last);
      std::swap(blocks[i], blocks[place]);
    }
  }

 private:
  std::mt19937 engine_;
};

/// Python's middle[begin:end] of the blocks 1 to blocks - 2, for begin >= 0.
void append_middle(Blocks& blocks, std::int64_t all_blocks, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < std::min(end, all_blocks - 2); ++i) {
    blocks.push_back(static_cast<std::int32_t>(i + 1));
  }
}

/// The rule of the paper's lengths: what row i of the model's maximum length permutes. That its last rows and rows far
/// down reach into their own window is how the released code is.
Blocks paper_candidates(std::int64_t all_blocks, std::int64_t last, std::int64_t row) {
  Blocks blocks;
  const std::int64_t start = row - 2;
  if (row <= 2) {
    append_middle(blocks, all_blocks, row + 1, last);
  } else if (row >= all_blocks - 3) {
    append_middle(blocks, all_blocks, 0, last);
  } else if (start > last || row + 1 == last) {
    append_middle(blocks, all_blocks, 0, std::min(start, last));
  } else {
    append_middle(blocks, all_blocks, 0, start);
    append_middle(blocks, all_blocks, row + 1, last);
  }
  return blocks;
}

/// A range of rows that each draw `count` more blocks of [begin, end).
struct Stage {
  std::int64_t first_row;
  std::int64_t end_row;
  std::int64_t begin;
  std::int64_t end;
  std::int64_t count;
};

/// The rule of all other lengths, as a list of stages in the order drawn.
std::vector<Stage> stages(std::int64_t blocks, std::int64_t random) {
  if (2 * random + 5 < blocks) {
    const std::int64_t first = 2 * random + 5;
    return {{1, first, 0, first, random}, {first, blocks, 0, first, random}};
  }
  if (random + 5 < blocks) {
    const std::int64_t first = random + 5;
    const std::int64_t half = random / 2;
    return {{1, first, 0, first, half},
            {1, first, first, blocks, random - half},
            {first, blocks, 0, first, half},
            {first, blocks, first, blocks, random - half}};
  }
  return {{1, blocks, 0, blocks, random}};
}

/// Whether row `row` may draw `block` out of [0, end): not its window, not the global blocks, and not what the second
/// and the last but one row see as a global block already.
bool is_allowed(std::int64_t row, std::int64_t block, std::int64_t end) {
  const bool near = block >= row - 1 && block <= row + 1;
  const bool global = block == 0 || block == end - 1;
  const bool corner = (row == 1 && block == end - 2) || (row == end - 2 && block == 1);
  return !near && !global && !corner;
}

void check_work(const ReleasedPlan& plan, std::int64_t rows, std::int64_t permuted) {
  const double rows_of_heads = static_cast<double>(rows) * static_cast<double>(plan.heads);
  if (rows_of_heads * static_cast<double>(permuted + 1) > static_cast<double>(kMaximumWork) ||
      rows_of_heads * static_cast<double>(plan.random) > static_cast<double>(kMaximumPlaces)) {
    fail(ErrorKind::kExpression, "pattern: the released plan of ", rows, " blocks, ", plan.heads, " heads and ",
         plan.random, " random blocks is too large to draw; plan=\"uniform\" draws each row alone");
  }
}

}  // namespace

bool is_cut_from_maximum(const ReleasedPlan& plan) {
  const std::int64_t tokens = plan.blocks > 4 * kPaperTokens / plan.block ? 0 : plan.blocks * plan.block;
  return tokens == kPaperTokens || tokens == 3 * kPaperTokens || tokens == 4 * kPaperTokens;
}

ReleasedBlocks::ReleasedBlocks(const ReleasedPlan& plan) : plan_(plan) {
  if (plan.blocks > 2 && plan.random > 0) {
    is_cut_from_maximum(plan) ? draw_paper() : draw_stages();
  }
}

std::span<const std::int32_t> ReleasedBlocks::row(std::int64_t head, std::int64_t row) const {
  if (count_.empty() || row < 1 || row > plan_.blocks - 2) {
    return {};
  }
  const auto index = static_cast<std::size_t>(head * plan_.blocks + row);
  return {drawn_.data() + index * static_cast<std::size_t>(plan_.random), static_cast<std::size_t>(count_[index])};
}

/// Appends up to `wanted` blocks to a row. NumPy spreads a single one over all places, and so is it here.
void ReleasedBlocks::append(std::int64_t head, std::int64_t row, std::int64_t wanted,
                            std::span<const std::int32_t> found) {
  const auto index = static_cast<std::size_t>(head * plan_.blocks + row);
  std::int32_t& count = count_[index];
  const auto place = drawn_.begin() + static_cast<std::ptrdiff_t>(index) * plan_.random + count;
  if (found.size() == 1) {
    std::fill_n(place, wanted, found.front());
    count += static_cast<std::int32_t>(wanted);
  } else {
    const std::int64_t used = std::min(wanted, std::ssize(found));
    std::copy_n(found.begin(), used, place);
    count += static_cast<std::int32_t>(used);
  }
}

void ReleasedBlocks::allocate() {
  const auto rows = static_cast<std::size_t>(plan_.heads * plan_.blocks);
  count_.resize(rows);
  drawn_.resize(rows * static_cast<std::size_t>(plan_.random));
}

void ReleasedBlocks::draw_paper() {
  const std::int64_t all = plan_.maximum_blocks;
  const std::int64_t last = kPaperTokens > 2 * plan_.block ? kPaperTokens / plan_.block - 1 : all - 1;
  check_work(plan_, all, std::min(last, all));
  allocate();
  LegacyGenerator generator(plan_.seed);
  for (std::int64_t head = 0; head < plan_.heads; ++head) {
    for (std::int64_t row = 1; row < all - 1; ++row) {
      Blocks blocks = paper_candidates(all, last, row);
      generator.permute(blocks);
      if (row < plan_.blocks - 1) {
        append(head, row, plan_.random,
               std::span(blocks).first(std::min(blocks.size(), static_cast<std::size_t>(plan_.random))));
      }
    }
  }
}

void ReleasedBlocks::draw_stages() {
  const std::vector<Stage> all = stages(plan_.blocks, plan_.random);
  check_work(plan_, plan_.blocks, std::min(plan_.blocks, 2 * plan_.random + 5));
  allocate();
  LegacyGenerator generator(plan_.seed);
  Blocks blocks;
  for (const Stage& stage : all) {
    for (std::int64_t row = stage.first_row; row < stage.end_row && stage.count > 0; ++row) {
      for (std::int64_t head = 0; head < plan_.heads; ++head) {
        blocks.resize(static_cast<std::size_t>(stage.end - stage.begin));
        std::iota(blocks.begin(), blocks.end(), static_cast<std::int32_t>(stage.begin));
        generator.permute(blocks);
        std::erase_if(blocks, [&](std::int32_t block) { return !is_allowed(row, block, stage.end); });
        blocks.resize(std::min(blocks.size(), static_cast<std::size_t>(stage.count)));
        append(head, row, stage.count, blocks);
      }
    }
  }
}

}  // namespace weft::pattern
