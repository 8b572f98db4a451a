// SPDX-License-Identifier: Apache-2.0
// The parts of the fused kernel on their own, with the generic vectors that every processor runs: product, masks,
// packing, dropout, shares of work.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "support/hand_layout.h"
#include "support/thread_parallel.h"
#include "weft/core/random.h"
#include "weft/kernels/fused/long_items.h"
#include "weft/kernels/fused/matrix.h"
#include "weft/kernels/fused/panels.h"
#include "weft/kernels/fused/product.h"
#include "weft/kernels/fused/scores/block_mask.h"
#include "weft/kernels/fused/scores/dropout_panel.h"
#include "weft/kernels/fused/work.h"
#include "weft/kernels/isa/generic.h"

namespace weft::test {
namespace {

using kernels::Generic;
using kernels::kPanel;
using Packer = kernels::MatrixPacker<Generic, float>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> random_numbers(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    number = normal(engine);
  }
  return numbers;
}

// left(row, step) with the given strides, right [steps][columns].
struct ProductCase {
  std::int64_t rows;
  std::int64_t steps;
  std::int64_t vectors;
  bool transposed;
};

double expected_entry(const ProductCase& shape, const std::vector<float>& left, const std::vector<float>& right,
                      std::int64_t row, std::int64_t column) {
  double sum = 0;
  for (std::int64_t step = 0; step < shape.steps; ++step) {
    const std::int64_t at = shape.transposed ? step * shape.rows + row : row * shape.steps + step;
    sum += static_cast<double>(left[static_cast<std::size_t>(at)]) *
           static_cast<double>(right[static_cast<std::size_t>(step * kPanel + column)]);
  }
  return sum;
}

void expect_product(const ProductCase& shape) {
  const auto left = random_numbers(static_cast<std::size_t>(shape.rows * shape.steps), 1);
  const auto right = random_numbers(static_cast<std::size_t>(shape.steps * kPanel), 2);
  std::vector<float> result(static_cast<std::size_t>(shape.rows * kPanel), 2.0F);
  const std::vector<float> factors(kPanel, 0.5F);
  const kernels::Operand<float> operand{left.data(), shape.transposed ? 1 : shape.steps,
                                        shape.transposed ? shape.rows : 1};
  kernels::product<Generic, kernels::FloatUnits<Generic>>({operand, right.data(), kPanel, shape.steps},
                                                          {result.data(), kPanel, shape.rows, shape.vectors},
                                                          kernels::Rescaled<Generic>{factors.data()});
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    for (std::int64_t column = 0; column < kPanel; ++column) {
      const bool computed = column < shape.vectors * Generic::kLanes;
      const double expected = computed ? 1.0 + expected_entry(shape, left, right, row, column) : 2.0;
      ASSERT_NEAR(result[static_cast<std::size_t>(row * kPanel + column)], expected, 1e-5 * (1 + std::abs(expected)))
          << row << " " << column;
    }
  }
}

TEST(Product, EqualsItsDefinitionForAllRowsAndVectors) {
  for (std::int64_t rows = 1; rows <= 9; ++rows) {
    for (const std::int64_t vectors : {1, 2, 3, 8}) {
      expect_product({rows, 5, vectors, false});
      expect_product({rows, 7, vectors, true});
    }
  }
  expect_product({3, 0, 2, false});  // no step: nothing is added
}

TEST(TransposeBits, TurnsRowsIntoColumns) {
  std::uint64_t rows[64];
  std::uint64_t turned[64];
  for (int row = 0; row < 64; ++row) {
    turned[row] = rows[row] = random_bits(3, static_cast<std::uint64_t>(row));
  }
  kernels::transpose_bits<Generic>(turned);
  for (int row = 0; row < 64; ++row) {
    for (int column = 0; column < 64; ++column) {
      ASSERT_EQ((rows[row] >> column) & 1, (turned[column] >> row) & 1);
    }
  }
}

kernels::BlockMask<Generic> mask_of(const pattern::BlockLayout& layout, std::uint64_t padded,
                                    std::vector<float>& weights) {
  weights.assign(64 * 64, 0.0F);
  return {layout.view(), {0, layout.query_length, layout.key_length, padded}, weights.data()};
}

TEST(BlockMask, RangesHoldTheEdgesOfAPanelAndNoMore) {
  // Causal: the first 32 queries see no key beyond 31.
  const auto layout = hand_layout({64, 64}, 64, 64, 1, [](auto, auto query, auto key) { return key <= query ? 1 : 0; });
  std::vector<float> weights;
  const auto mask = mask_of(layout, 0, weights);
  const kernels::KeyRange first = mask.range(0, 32, 1);
  EXPECT_EQ(first.begin, 0);
  EXPECT_EQ(first.end, 32);
  EXPECT_TRUE(first.is_masked);
  EXPECT_EQ(mask.range(32, 32, 1).end, 64);
  EXPECT_EQ(mask.seen_by(63), std::uint64_t{1} << 63);
  EXPECT_EQ(mask.weights(), nullptr);
}

TEST(BlockMask, HalvesOfAPanelAreTakenWhereTheySeeMuchLess) {
  const auto causal = [](auto, auto query, auto key) { return key <= query ? 1 : 0; };
  std::vector<float> weights;
  const auto layout = hand_layout({64, 64}, 60, 64, 1, causal);
  std::vector<std::int64_t> ends;
  std::int64_t queries = 0;
  kernels::each_panel<Generic, kernels::FloatUnits<Generic>>(mask_of(layout, 0, weights), 60,
                                                             [&](const kernels::Panel& panel) {
                                                               EXPECT_EQ(panel.query, queries);
                                                               queries += panel.queries;
                                                               ends.push_back(panel.range.end);
                                                             });
  EXPECT_EQ(queries, 60);
  EXPECT_EQ(ends, (std::vector<std::int64_t>{16, 32, 60})) << "the second panel's halves see 48 and 60 of 60";
}

TEST(BlockMask, AFullBlockHasNoMaskUntilAKeyIsPadded) {
  const auto layout = hand_layout({64, 64}, 40, 50, 1, [](auto, auto, auto) { return 1; });
  std::vector<float> weights;
  EXPECT_FALSE(mask_of(layout, 0, weights).range(0, 32, 1).is_masked);
  EXPECT_EQ(mask_of(layout, 0, weights).range(32, 32, 1).end, 50);
  const auto padded = mask_of(layout, 1, weights);
  EXPECT_EQ(padded.range(0, 32, 1).begin, 1);
  EXPECT_FALSE(padded.range(0, 32, 1).is_masked);
  EXPECT_EQ(padded.range(0, 32, 2).begin, 0);
  EXPECT_TRUE(padded.range(0, 32, 2).is_masked);
  EXPECT_EQ(padded.seen_by(1), kernels::low_bits(40));
}

TEST(BlockMask, WeightsAreLogMultiplicitiesByKey) {
  const auto layout =
      hand_layout({64, 64}, 64, 64, 1, [](auto, auto query, auto key) { return query == 7 ? 0 : key % 3; });
  std::vector<float> weights;
  const auto mask = mask_of(layout, 0, weights);
  ASSERT_NE(mask.weights(), nullptr);
  EXPECT_FLOAT_EQ(mask.weights()[5 * 64 + 9], std::log(2.0F));
  EXPECT_EQ(mask.seen_by(3), 0U);
  EXPECT_EQ((mask.seen_by(4) >> 7) & 1, 0U);
}

TEST(MatrixPacker, ReadsInPlaceWhatItCan) {
  const auto numbers = random_numbers(10 * 12, 4);
  std::vector<float> room(static_cast<std::size_t>(Packer::room(8)));
  const kernels::Rows<float> rows{numbers.data(), 12, 10, 8};
  EXPECT_EQ(Packer::pack(rows, kernels::Sides::kRowsAndSteps, room.data()).rows.data, numbers.data());
  const kernels::Rows<float> odd{numbers.data(), 12, 10, 7};
  EXPECT_EQ(Packer::pack(odd, kernels::Sides::kRows, room.data()).rows.data, numbers.data());
  EXPECT_EQ(Packer::pack(odd, kernels::Sides::kRowsAndSteps, room.data()).steps, room.data())
      << "whole vectors of 7 columns";
  EXPECT_EQ(room[7], 0.0F);
}

TEST(MatrixPacker, HiddenRowsBecomeZeroAndInvalidOnesAreFound) {
  auto numbers = random_numbers(10 * 12, 5);
  numbers[3 * 12 + 2] = std::numeric_limits<float>::quiet_NaN();
  numbers[6 * 12 + 7] = -kInfinity;
  const kernels::Rows<float> rows{numbers.data(), 12, 10, 8, std::uint64_t{1} << 3};
  EXPECT_EQ(Packer::invalid(rows), std::uint64_t{1} << 6);
  std::vector<float> room(static_cast<std::size_t>(Packer::room(8)));
  const auto packed = Packer::pack(rows, kernels::Sides::kRows, room.data());
  EXPECT_EQ(packed.rows.data[3 * packed.rows.row_stride + 2], 0.0F);
  EXPECT_EQ(packed.rows.data[4 * packed.rows.row_stride + 2], numbers[4 * 12 + 2]);
}

TEST(MatrixPacker, PanelsAreTransposed) {
  const auto numbers = random_numbers(50 * 7, 6);
  std::vector<float> panels(64 * 8);
  Packer::pack_panels({numbers.data(), 7, 50, 7}, panels.data());
  for (std::int64_t row = 0; row < 50; ++row) {
    for (std::int64_t column = 0; column < 7; ++column) {
      const std::int64_t at = (row / kPanel * 7 + column) * kPanel + row % kPanel;
      ASSERT_EQ(panels[static_cast<std::size_t>(at)], numbers[static_cast<std::size_t>(row * 7 + column)]);
    }
  }
}

void expect_draws_of_rows(const kernels::Dropout& dropout) {
  std::vector<float> numbers(64 * kPanel, 1.0F);
  const kernels::PanelDropout<Generic> panel(dropout, 3, 5);
  const kernels::PanelSpan span{8, 96, 640, 5, 61};
  kernels::PanelBits<Generic> kept;
  panel.draw(span, kept);
  panel.apply(numbers.data(), span, kept);
  for (std::int64_t query = 0; query < kPanel; ++query) {
    kernels::DropoutRow row(dropout, 3, 5, 96 + query);
    for (std::int64_t key = 0; key < 64; ++key) {
      const bool touched = key >= 5 && key < 61;
      ASSERT_FLOAT_EQ(numbers[static_cast<std::size_t>(key * kPanel + query)],
                      touched ? static_cast<float>(row.multiplier(640 + key)) : 1.0F);
    }
  }
}

TEST(PanelDropout, DrawsWhatSingleRowsDraw) {
  expect_draws_of_rows({0.3F, 11, 2});
  expect_draws_of_rows({0.3F, {11, DropoutDraws::kFirst}, 2});
}

TEST(Shares, CoverEveryItemOnceAndEvenly) {
  const auto cost = [](std::int64_t item) { return item == 0 ? 50.0 : 1.0; };
  const kernels::Shares<Generic, decltype(cost)> shares(101, 4, cost);  // 150 in all
  std::vector<int> visits(101, 0);
  for (std::int64_t share = 0; share < 4; ++share) {
    shares.run(share, share + 1, [&](std::int64_t begin, std::int64_t end) {
      EXPECT_LE(end - begin, 38) << share;
      for (std::int64_t item = begin; item < end; ++item) {
        ++visits[static_cast<std::size_t>(item)];
      }
    });
  }
  EXPECT_EQ(visits, std::vector<int>(101, 1));
}

TEST(LongItems, AreCutIntoPartsThatCoverThem) {
  const auto cost = [](std::int64_t item) { return item == 7 ? 500.5 : 8.5; };
  const kernels::LongItems<Generic, decltype(cost)> items(100, 4, cost);
  EXPECT_EQ(items.parts(), 12);  // 1,342 blocks: 42 are an eighth of a thread's share
  EXPECT_EQ(items.cost(7), 0.0);
  EXPECT_TRUE(items.at(6).is_whole());
  std::int64_t end = 0;
  for (std::int64_t piece = 100; piece < items.pieces(); ++piece) {
    const kernels::WorkPiece part = items.at(piece);
    EXPECT_EQ(part.item, 7);
    EXPECT_EQ(part.slot, piece - 100);
    EXPECT_EQ(part.of({0, 500}).begin, end);
    end = part.of({0, 500}).end;
  }
  EXPECT_EQ(end, 500);
}

TEST(LongItems, OneThreadCutsNothing) {
  const auto cost = [](std::int64_t item) { return item == 0 ? 5000.0 : 1.0; };
  const kernels::LongItems<Generic, decltype(cost)> items(10, 1, cost);
  EXPECT_EQ(items.pieces(), 10);
}

TEST(Shares, KnowHowMuchAnUnevenOneCosts) {
  const auto cost = [](std::int64_t) { return 1.0; };
  EXPECT_DOUBLE_EQ((kernels::Shares<Generic, decltype(cost)>(3, 2, cost).slowness(2)), 4.0 / 3);
  EXPECT_DOUBLE_EQ((kernels::Shares<Generic, decltype(cost)>(12, 4, cost).slowness(4)), 1.0);
}

TEST(Shares, NothingIsSharedOutWithoutAnError) {
  kernels::share_out<Generic>(
      kThreadParallel<4>, 0, [](std::int64_t) { return 1.0; }, [](std::int64_t, std::int64_t) { FAIL(); });
}

}  // namespace
}  // namespace weft::test
