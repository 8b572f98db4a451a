// SPDX-License-Identifier: Apache-2.0
// The plain forward kernel against the definition, over shapes, tiles, dtypes and masks; what happens at empty rows, in
// padded memory and with NaN.
#include <gtest/gtest.h>

#include "kernels/kernel_case.h"
#include "support/thread_parallel.h"

namespace weft::test {
namespace {

using kernels::DType;

template <typename Case>
void expect_forward(Case& kernel_case, double tolerance) {
  kernel_case.forward();
  const Shape& shape = kernel_case.shape;
  for (std::int64_t item = 0; item < shape.batch * shape.heads * shape.query_length; ++item) {
    const std::int64_t row = item % shape.query_length;
    const std::int64_t head = item / shape.query_length % shape.heads;
    const std::int64_t batch = item / shape.query_length / shape.heads;
    const std::vector<double> expected = kernel_case.expected_row(batch, head, row);
    for (std::int64_t column = 0; column < shape.value_dim; ++column) {
      const double found = kernel_case.output.get(batch, head, row, column);
      ASSERT_NEAR(found, expected[static_cast<std::size_t>(column)], tolerance * (1 + std::abs(found)))
          << "row " << row << " head " << head << " batch " << batch;
    }
  }
}

Shape random_shape(std::mt19937_64& engine) {
  const auto between = [&engine](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(high - low + 1));
  };
  constexpr std::int32_t kKeyTiles[] = {8, 16, 32, 64, 128};
  const std::int64_t group = between(1, 3);
  Shape shape{between(1, 2), 0, between(1, 2), between(1, 96), between(1, 96), between(1, 20), between(1, 20)};
  shape.heads = group * shape.key_heads;
  shape.tile = {static_cast<std::int32_t>(between(1, 70)), kKeyTiles[between(0, 4)]};
  return shape;
}

template <typename Case>
Case random_case(std::uint64_t seed, DType dtype) {
  std::mt19937_64 engine(seed);
  Case result(random_shape(engine), mixed_edges, seed, dtype);
  if (seed % 2 == 0) {
    for (std::int64_t position = 0; position < result.shape.batch * result.shape.key_length; ++position) {
      result.keep.push_back(engine() % 4 != 0 ? 1 : 0);
    }
  }
  if (seed % 3 == 0) {
    result.dropout = {0.3F, seed, 7};
  }
  for (std::int64_t slope = 0; slope < static_cast<std::int64_t>(seed % 4) * result.shape.heads; ++slope) {
    result.slopes.push_back(0.05F * static_cast<float>(slope + 1));
  }
  result.query_offset = 3 - static_cast<std::int64_t>(seed % 7);
  return result;
}

TEST(ForwardKernel, EqualsTheDefinitionInFloat64) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    auto kernel_case = random_case<Float64Case>(seed, DType::kFloat64);
    // Log multiplicities are float32 in the layout: log 3 is off by 2e-8.
    expect_forward(kernel_case, 1e-7);
  }
}

TEST(ForwardKernel, EqualsTheDefinitionInFloat32) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    auto kernel_case = random_case<Float32Case>(seed, DType::kFloat32);
    expect_forward(kernel_case, 3e-6);  // 20 products of N(0, 1) and 96 terms, a few ulps each
  }
}

TEST(ForwardKernel, HalfTypesRoundOnlyTheResult) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    auto brain = random_case<BFloat16Case>(seed, DType::kBFloat16);
    expect_forward(brain, 1.0 / 256);  // half an ulp of 8 bits
    auto half = random_case<Float16Case>(seed, DType::kFloat16);
    expect_forward(half, 1.0 / 2048);  // half an ulp of 11 bits
  }
}

TEST(ForwardKernel, EmptyRowsAreZeroAndMinusInfinity) {
  Float32Case kernel_case({2, 2, 1, 40, 30, 5, 6, {16, 8}}, mixed_edges, 1, DType::kFloat32);
  kernel_case.keep.assign(60, 1);
  std::fill(kernel_case.keep.begin() + 30, kernel_case.keep.end(), 0);  // the second batch row is all padding
  kernel_case.forward();
  for (std::int64_t row = 0; row < 40; ++row) {
    for (std::int64_t head = 0; head < 2; ++head) {
      const bool empty =
          kernel_case.log_sum_exp[static_cast<std::size_t>(head * 40 + row)] == -std::numeric_limits<float>::infinity();
      EXPECT_TRUE(empty || row % 11 != 5);
      EXPECT_EQ(kernel_case.log_sum_exp[static_cast<std::size_t>((2 + head) * 40 + row)],
                -std::numeric_limits<float>::infinity());
      EXPECT_EQ(kernel_case.output.get(1, head, row, 3), 0.0);
      EXPECT_TRUE(!empty || kernel_case.output.get(0, head, row, 3) == 0.0);
    }
  }
}

TEST(ForwardKernel, LogSumExpIsThatOfTheScores) {
  Float64Case kernel_case({1, 1, 1, 20, 20, 4, 4, {8, 8}}, mixed_edges, 3, DType::kFloat64);
  kernel_case.forward();
  for (const std::int64_t row : {0, 7, 19}) {
    double sum = 0;
    for (std::int64_t key = 0; key < 20; ++key) {
      sum += mixed_edges(0, row, key) * std::exp(kernel_case.score(0, 0, row, key));
    }
    EXPECT_NEAR(kernel_case.log_sum_exp[static_cast<std::size_t>(row)], std::log(sum), 1e-12);
  }
}

TEST(ForwardKernel, PaddedKeysMayHoldAnything) {
  for (const double poison : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    auto clean = random_case<Float32Case>(2, DType::kFloat32);
    auto dirty = random_case<Float32Case>(2, DType::kFloat32);
    for (std::int64_t position = 0; position < clean.shape.key_length; ++position) {
      if (!dirty.keeps(0, position)) {
        dirty.key.set(0, 0, position, 0, poison);
        dirty.value.set(0, 0, position, 0, poison);
      }
    }
    clean.forward();
    dirty.forward();
    EXPECT_EQ(clean.output.values(), dirty.output.values());
  }
}

TEST(ForwardKernel, NaNStaysInTheRowsThatAttendToIt) {
  for (const bool in_key : {true, false}) {
    Float32Case kernel_case({1, 2, 2, 50, 50, 6, 6, {16, 16}}, mixed_edges, 4, DType::kFloat32);
    (in_key ? kernel_case.key : kernel_case.value).set(0, 0, 20, 1, std::numeric_limits<double>::quiet_NaN());
    kernel_case.forward();
    for (std::int64_t row = 0; row < 50; ++row) {
      EXPECT_EQ(std::isnan(kernel_case.output.get(0, 0, row, 1)), mixed_edges(0, row, 20) > 0) << row;
      EXPECT_FALSE(std::isnan(kernel_case.output.get(0, 1, row, 1))) << row;
    }
  }
}

TEST(ForwardKernel, GreatScoresDoNotOverflow) {
  Float32Case kernel_case({1, 1, 1, 30, 30, 8, 8, {8, 8}}, mixed_edges, 5, DType::kFloat32);
  kernel_case.scale = 1e4;
  kernel_case.forward();
  for (const double entry : kernel_case.output.values()) {
    EXPECT_TRUE(std::isfinite(entry));
  }
}

TEST(ForwardKernel, TilesAndThreadsDoNotChangeWhatIsDropped) {
  const Shape shape{1, 2, 1, 70, 70, 4, 4, {64, 64}};
  Float64Case one(shape, mixed_edges, 6, DType::kFloat64);
  one.dropout = {0.5F, 11, 0};
  Float64Case other({1, 2, 1, 70, 70, 4, 4, {7, 8}}, mixed_edges, 6, DType::kFloat64);
  other.dropout = one.dropout;
  one.forward();
  other.forward(kThreadParallel<3>);
  const auto expected = one.output.values();
  const auto found = other.output.values();
  for (std::size_t at = 0; at < expected.size(); ++at) {
    EXPECT_NEAR(expected[at], found[at], 1e-12);
  }
}

TEST(ForwardKernel, SameBitsForAnyNumberOfThreads) {
  auto serial = random_case<Float32Case>(12, DType::kFloat32);
  auto threaded = random_case<Float32Case>(12, DType::kFloat32);
  serial.forward();
  threaded.forward(kThreadParallel<4>);
  EXPECT_EQ(serial.output.values(), threaded.output.values());
  EXPECT_EQ(serial.log_sum_exp, threaded.log_sum_exp);
}

}  // namespace
}  // namespace weft::test
