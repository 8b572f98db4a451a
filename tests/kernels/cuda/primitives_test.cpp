// SPDX-License-Identifier: Apache-2.0
// The emulated primitives against plain loops, and what they refuse: each is what the PTX manual says of it.
#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

#include "kernels/cuda/emulated_lanes.h"
#include "weft/kernels/cuda/products.h"

namespace weft::test {
namespace {

using kernels::cuda::BFloat16Format;
using kernels::cuda::chunk_place;
using kernels::cuda::Float16Format;
using kernels::cuda::Float32Format;

template <typename Format>
std::vector<float> random_slice(EmulatedLanes<kernels::cuda::kThreads<Format>>& lanes, int place, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<float> numbers;
  numbers.reserve(static_cast<std::size_t>(64) * Format::kColumns);
  for (int at = 0; at < 64 * Format::kColumns; ++at) {
    numbers.push_back(static_cast<float>(static_cast<int>(engine() % 17) - 8));  // exact in all formats
    const int to = place + kernels::cuda::element_place<Format>(at / Format::kColumns, at % Format::kColumns);
    if constexpr (kernels::cuda::kIsHalf<Format>) {
      const std::uint32_t pair = lanes.template pack<Format>(numbers.back(), 0);
      lanes.store_shared(at / Format::kColumns % kernels::cuda::kThreads<Format>, to, static_cast<std::uint16_t>(pair));
    } else {
      lanes.store_shared(at / Format::kColumns % kernels::cuda::kThreads<Format>, to, numbers.back());
    }
  }
  return numbers;
}

// Both products of attention over whole slices: they use every primitive that moves matrices.
template <typename Format>
void expect_products() {
  constexpr int kThreads = kernels::cuda::kThreads<Format>;
  EmulatedLanes<kThreads> lanes(2 * kernels::cuda::kSliceBytes);
  const std::vector<float> own = random_slice<Format>(lanes, 0, 1);
  const std::vector<float> other = random_slice<Format>(lanes, kernels::cuda::kSliceBytes, 2);
  lanes.barrier();
  typename EmulatedLanes<kThreads>::template Each<kernels::cuda::Scores> scores{};
  typename EmulatedLanes<kThreads>::template Each<kernels::cuda::ValueSums<Format>> values{};
  kernels::cuda::add_scores<Format>(lanes, scores, 0, kernels::cuda::kSliceBytes, Format::kColumns);
  const auto at = [](int row, int column) {
    return static_cast<std::size_t>(row) * Format::kColumns + static_cast<std::size_t>(column);
  };
  std::vector<float> products(static_cast<std::size_t>(64) * 64);
  for (int row = 0; row < 64; ++row) {
    for (int key = 0; key < 64; ++key) {
      for (int column = 0; column < Format::kColumns; ++column) {
        products[static_cast<std::size_t>(row) * 64 + static_cast<std::size_t>(key)] +=
            own[at(row, column)] * other[at(key, column)];
      }
    }
  }
  for (int thread = 0; thread < kThreads; ++thread) {
    for (int entry = 0; entry < 32; ++entry) {
      const int row = kernels::cuda::own_row(thread) + entry % 4 / 2 * 8;
      const int key = entry / 4 * 8 + kernels::cuda::own_column(thread) + entry % 2;
      float& score = scores[thread].at[entry / 4][entry % 4];
      ASSERT_EQ(score, products[static_cast<std::size_t>(row) * 64 + static_cast<std::size_t>(key)])
          << row << " " << key;
      score = static_cast<float>((row + 3 * key) % 5);
    }
  }
  kernels::cuda::add_values<Format>(lanes, values, scores, kernels::cuda::kSliceBytes);
  for (int thread = 0; thread < kThreads; ++thread) {
    for (int entry = 0; entry < Format::kColumns / 8 * 4; ++entry) {
      const int row = kernels::cuda::own_row(thread) + entry % 4 / 2 * 8;
      const int column = entry / 4 * 8 + kernels::cuda::own_column(thread) + entry % 2;
      float expected = 0;
      for (int key = 0; key < 64; ++key) {
        expected += static_cast<float>((row + 3 * key) % 5) * other[at(key, column)];
      }
      ASSERT_EQ(values[thread].at[entry / 4][entry % 4], expected) << row << " " << column;
    }
  }
}

TEST(CudaPrimitives, ProductsOfSlicesAreThoseOfLoops) {
  expect_products<BFloat16Format>();
  expect_products<Float16Format>();
  expect_products<Float32Format>();
  expect_products<kernels::cuda::Tf32Format>();
}

TEST(CudaPrimitives, AMatrixIsGivenToLanesByRowsOrByColumns) {
  EmulatedLanes<32> lanes(512);
  for (int row = 0; row < 32; ++row) {
    for (int column = 0; column < 8; ++column) {
      lanes.store_shared(row, row * 16 + column * 2, static_cast<std::uint16_t>(row * 8 + column));
    }
  }
  lanes.barrier();
  EmulatedLanes<32>::Each<kernels::cuda::Matrices> rows;
  EmulatedLanes<32>::Each<kernels::cuda::Matrices> columns;
  lanes.load_matrices(rows, [](int thread) { return thread * 16; });
  lanes.load_matrices_transposed(columns, [](int thread) { return thread * 16; });
  for (int lane = 0; lane < 32; ++lane) {
    for (int of = 0; of < 4; ++of) {
      const int first = of * 64 + lane / 4 * 8 + lane % 4 * 2;
      EXPECT_EQ(rows[lane].at[of], static_cast<std::uint32_t>(first | (first + 1) << 16));
      const int turned = of * 64 + lane % 4 * 2 * 8 + lane / 4;
      EXPECT_EQ(columns[lane].at[of], static_cast<std::uint32_t>(turned | (turned + 8) << 16));
    }
  }
}

TEST(CudaPrimitives, CopiesArriveAtTheirWaitAndEndInZeros) {
  EmulatedLanes<32> lanes(256);
  alignas(16) const std::uint32_t from[4] = {1, 2, 3, 4};
  lanes.copy_async(0, 0, from, 16);
  lanes.commit();
  lanes.copy_async(1, 16, from, 8);
  lanes.commit();
  EXPECT_THROW(lanes.load_shared<std::uint32_t>(0, 0), std::logic_error);
  lanes.wait<1>();
  EXPECT_EQ(lanes.load_shared<std::uint32_t>(0, 12), 4U);
  EXPECT_THROW(lanes.load_shared<std::uint32_t>(5, 0), std::logic_error);  // no barrier yet
  EXPECT_THROW(lanes.load_shared<std::uint32_t>(1, 16), std::logic_error);
  lanes.wait<0>();
  lanes.barrier();
  EXPECT_EQ(lanes.load_shared<std::uint32_t>(5, 20), 2U);
  EXPECT_EQ(lanes.load_shared<std::uint32_t>(5, 24), 0U);
}

TEST(CudaPrimitives, WhatMeetsBetweenTwoBarriersIsRefused) {
  EmulatedLanes<32> lanes(64);
  lanes.store_shared(0, 0, 1.0F);
  EXPECT_THROW(lanes.load_shared<float>(1, 0), std::logic_error);
  EXPECT_THROW(lanes.store_shared(1, 0, 2.0F), std::logic_error);
  lanes.barrier();
  EXPECT_EQ(lanes.load_shared<float>(1, 0), 1.0F);
  EXPECT_THROW(lanes.store_shared(2, 0, 2.0F), std::logic_error);  // thread 1 reads it
  EXPECT_THROW(lanes.load_shared<kernels::cuda::Sixteen>(0, 8), std::logic_error);
  EXPECT_THROW(lanes.load_shared<float>(0, 64), std::logic_error);
  alignas(16) const std::uint32_t from[8] = {};
  EXPECT_THROW(lanes.copy_async(0, 16, from + 1, 16), std::logic_error);
}

// A slice of small whole numbers, published; product of row and column with it as loops.
class SliceProducts : public ::testing::Test {
 protected:
  using Lanes = EmulatedLanes<128, true>;
  static constexpr int kOther = kernels::cuda::kSliceBytes;

  void SetUp() override {
    for (int row = 0; row < 64; ++row) {
      for (int column = 0; column < 64; ++column) {
        for (int slice = 0; slice < 2; ++slice) {
          const float number = entry(slice, row, column);
          const int to = slice * kOther + kernels::cuda::element_place<BFloat16Format>(row, column);
          lanes_.store_shared(row, to, static_cast<std::uint16_t>(Lanes::pack<BFloat16Format>(number, 0)));
        }
      }
    }
  }
  static float entry(int slice, int row, int column) {
    return static_cast<float>((row * (3 + slice) + column * 5) % 11 - 5);
  }
  void publish() {
    lanes_.publish();
    lanes_.barrier();
  }

  Lanes lanes_{3 * kOther};
  Lanes::Each<kernels::cuda::Scores> sums_{};
};

TEST_F(SliceProducts, AreThoseOfLoopsAndShowAtTheWait) {
  publish();
  lanes_.begin_products(sums_);
  lanes_.multiply_slices<BFloat16Format>(sums_, 0, kOther, false);
  lanes_.commit_products();
  EXPECT_THROW(sums_[0].at[0][0] = 0, std::logic_error);
  EXPECT_THROW(lanes_.wait_products<1>(sums_), std::logic_error);  // still under way
  EXPECT_THROW(lanes_.store_shared(0, kOther, 1.0F), std::logic_error);
  lanes_.wait_products<0>(sums_);
  Lanes::Each<kernels::cuda::Scores> values{};
  Lanes::Each<kernels::cuda::PackedWeights> weights{};
  for (int thread = 0; thread < 128; ++thread) {
    for (int at = 0; at < 32; ++at) {
      const int row = kernels::cuda::own_row(thread) + at % 4 / 2 * 8;
      const int key = at / 4 * 8 + kernels::cuda::own_column(thread) + at % 2;
      float expected = 0;
      for (int column = 0; column < 64; ++column) {
        expected += entry(0, row, column) * entry(1, key, column);
      }
      ASSERT_EQ(sums_[thread].at[at / 4][at % 4], expected) << row << " " << key;
    }
    for (int at = 0; at < 16; ++at) {
      const int row = kernels::cuda::own_row(thread) + at % 2 * 8;
      const int key = at / 4 * 16 + at % 4 / 2 * 8 + kernels::cuda::own_column(thread);
      weights[thread].at[at / 4][at % 4] =
          Lanes::pack<BFloat16Format>(static_cast<float>((row + key) % 7), static_cast<float>((row + key + 1) % 7));
    }
  }
  lanes_.begin_products(values, weights);
  lanes_.multiply_weights<BFloat16Format>(values, weights, kOther);
  lanes_.commit_products();
  EXPECT_THROW(weights[0].at[0][0] = 0, std::logic_error);
  lanes_.wait_products<0>(values);
  for (int thread = 0; thread < 128; ++thread) {
    for (int at = 0; at < 32; ++at) {
      const int row = kernels::cuda::own_row(thread) + at % 4 / 2 * 8;
      const int column = at / 4 * 8 + kernels::cuda::own_column(thread) + at % 2;
      float expected = 0;
      for (int key = 0; key < 64; ++key) {
        expected += static_cast<float>((row + key) % 7) * entry(1, key, column);
      }
      ASSERT_EQ(values[thread].at[at / 4][at % 4], expected) << row << " " << column;
    }
  }
}

TEST_F(SliceProducts, WhatWasNotPublishedOrNamedIsRefused) {
  lanes_.begin_products(sums_);
  EXPECT_THROW(lanes_.multiply_slices<BFloat16Format>(sums_, 0, kOther, false), std::logic_error);  // no barrier
  lanes_.barrier();
  EXPECT_THROW(lanes_.multiply_slices<BFloat16Format>(sums_, 0, kOther, false), std::logic_error);  // not published
  publish();
  Lanes::Each<kernels::cuda::Scores> others{};
  EXPECT_THROW(lanes_.multiply_slices<BFloat16Format>(others, 0, kOther, false), std::logic_error);  // not named
}

TEST(CudaPrimitives, ShufflesStayInTheirWarp) {
  EmulatedLanes<64> lanes(16);
  EmulatedLanes<64>::Each<float> values;
  lanes.run([&](int thread) { values[thread] = static_cast<float>(thread); });
  EmulatedLanes<64>::Each<float> sums = values;
  kernels::cuda::join_row<true>(lanes, sums);
  kernels::cuda::join_row<false>(lanes, values);
  for (int thread = 0; thread < 64; ++thread) {
    const int row = thread / 4;
    EXPECT_EQ(sums[thread], static_cast<float>(16 * row + 6));
    EXPECT_EQ(values[thread], static_cast<float>(4 * row + 3));
  }
}

TEST(CudaPrimitives, PairsAreRoundedToTheNearest) {
  EXPECT_EQ(EmulatedLanes<32>::pack<BFloat16Format>(1.0F, -2.0F), 0xC0003F80U);
  EXPECT_EQ(EmulatedLanes<32>::pack<BFloat16Format>(std::bit_cast<float>(0x3F808000U), 0), 0x3F80U);  // ties to even
  EXPECT_EQ(EmulatedLanes<32>::pack<Float16Format>(1.0F, -2.0F), 0xC0003C00U);
  EXPECT_EQ(EmulatedLanes<32>::unpack<Float16Format>(0x3C01), 1.0F + 1.0F / 1024);
}

TEST(CudaPrimitives, EightRowsOfAChunkLieInAllBanks) {
  for (int chunk = 0; chunk < 8; ++chunk) {
    unsigned banks = 0;
    for (int row = 0; row < 8; ++row) {
      banks |= 1U << (chunk_place(row, chunk) / 16 % 8);
    }
    EXPECT_EQ(banks, 0xFFU);
  }
}

}  // namespace
}  // namespace weft::test
