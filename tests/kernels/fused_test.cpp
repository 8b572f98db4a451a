// SPDX-License-Identifier: Apache-2.0
// The fused kernels of every instruction set that the machine has, against the plain kernel in float64 (which is tested
// against the definition): random shapes, strides, masks, weights, padding, dropout; what NaN may reach; determinism.
#include <gtest/gtest.h>

#include "kernels/exact_case.h"
#include "kernels/kernel_case.h"
#include "kernels/kernel_variants.h"
#include "support/thread_parallel.h"

namespace weft::test {
namespace {

using kernels::DType;

class FusedKernel : public ::testing::TestWithParam<KernelVariant> {
 protected:
  void SetUp() override {
    if (!kernels::is_available(GetParam().isa)) {
      GTEST_SKIP() << "this machine has no " << kernels::to_string(GetParam().isa);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(, FusedKernel, ::testing::ValuesIn(kernel_variants()),
                         [](const auto& instance) { return instance.param.name; });

// Short enough for the plain kernel under sanitizers; several blocks, odd tails, short query tiles.
Shape random_fused_shape(std::mt19937_64& engine) {
  constexpr std::int64_t kDims[] = {1, 7, 16, 40, 64, 80, 128, 256};
  constexpr std::int32_t kQueryTiles[] = {64, 64, 64, 1, 17, 33};
  const auto between = [&engine](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(high - low + 1));
  };
  const std::int64_t group = between(1, 3);
  Shape shape{between(1, 2), 0, between(1, 2), between(1, 150), between(1, 170), 0, 0};
  shape.heads = group * shape.key_heads;
  shape.head_dim = kDims[between(0, 7)];
  shape.value_dim = between(0, 1) == 0 ? shape.head_dim : kDims[between(0, 7)];
  shape.tile = {kQueryTiles[between(0, 5)], 64};
  return shape;
}

template <typename Case>
Case random_fused_case(std::uint64_t seed, DType dtype) {
  std::mt19937_64 engine(seed);
  Case result(random_fused_shape(engine), mixed_edges, seed, dtype);
  result.scale = 1.0 / std::sqrt(static_cast<double>(result.shape.head_dim));
  if (seed % 2 == 0) {
    for (std::int64_t position = 0; position < result.shape.batch * result.shape.key_length; ++position) {
      result.keep.push_back(engine() % 4 != 0 ? 1 : 0);
    }
  }
  if (seed % 3 == 0) {
    result.dropout = {0.3F, seed, 7};
  }
  for (std::int64_t slope = 0; slope < static_cast<std::int64_t>(seed % 4) * result.shape.heads; ++slope) {
    result.slopes.push_back(0.03F * static_cast<float>(slope + 1));
  }
  if (seed % 8 == 0 || seed % 8 == 5) {
    result.slopes.clear();
    result.draw_distances(seed);
    result.asks_distance_gradient = seed % 7 != 0;
  }
  if (seed % 5 == 2) {
    result.draw_positions(seed);
  }
  if (seed % 3 == 1) {
    result.draw_relative(seed);
    result.scale *= 0.7;
  }
  result.query_offset = seed % 8 == 3 ? -20 : 5 * static_cast<std::int64_t>(seed % 2);
  return result;
}

// What a seed switches on repeats after 24 of them.
constexpr std::uint64_t kFloatCases = WEFT_SANITIZED ? 24 : 80;
constexpr std::uint64_t kHalfCases = WEFT_SANITIZED ? 8 : 30;

TEST_P(FusedKernel, EqualsFloat64InFloat32) {
  for (std::uint64_t seed = 0; seed < kFloatCases; ++seed) {
    SCOPED_TRACE(seed);
    auto fused = random_fused_case<Float32Case>(seed, DType::kFloat32);
    GetParam().use_for(fused);
    if (GetParam().runs(fused)) {
      expect_agreement(fused, {2e-6, 1e-5});
    }
  }
}

TEST_P(FusedKernel, HalfTypesAreNearFloat64) {
  for (std::uint64_t seed = 100; seed < 100 + kHalfCases; ++seed) {
    SCOPED_TRACE(seed);
    // Probabilities and score gradients are rounded to 8 (11) bits before they are multiplied, outputs after: half an
    // ulp each.
    auto brain = random_fused_case<BFloat16Case>(seed, DType::kBFloat16);
    GetParam().use_for(brain);
    if (!GetParam().runs(brain)) {
      continue;
    }
    expect_agreement(brain, {1.0 / 128, 1.0 / 50});
    auto half = random_fused_case<Float16Case>(seed, DType::kFloat16);
    GetParam().use_for(half);
    expect_agreement(half, {1.0 / 1024, 1.0 / 400});
  }
}

TEST_P(FusedKernel, FullLayoutsAndLongRows) {
  const auto all = [](std::int64_t, std::int64_t, std::int64_t) { return 1; };
  for (const std::int64_t length : {1, 63, 64, 65, 96}) {
    Float32Case fused({1, 1, 1, length, 2 * length + 1, 64, 64, {64, 64}}, all, 5, DType::kFloat32);
    GetParam().use_for(fused);
    fused.scale = 0.125;
    expect_agreement(fused, {2e-6, 1e-5});
  }
}

TEST_P(FusedKernel, GreatScoresScaleTheError) {
  Float32Case fused({1, 2, 2, 70, 90, 16, 16, {64, 64}}, mixed_edges, 9, DType::kFloat32);
  GetParam().use_for(fused);
  fused.scale = 100;  // scores to about 1,500: each is off by an ulp of that, and so is its exponential, relatively
  Float64Case exact = exact_case(fused);
  exact.forward();
  fused.forward();
  expect_close(fused.output, exact.output, 1e-3, 1e-3);
}

// The plain kernel sums by rows; its NaN rules are in forward_test.cpp.
TEST_P(FusedKernel, NaNStaysInTheRowsThatAttendToIt) {
  constexpr double kBad[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()};
  for (int trial = 0; trial < 6; ++trial) {
    Float32Case fused({1, 2, 2, 90, 90, 20, 20, {64, 64}}, mixed_edges, 4, DType::kFloat32);
    if (GetParam().is_plain() && trial > 1) {
      continue;  // infinity times a probability is infinite there, not NaN
    }
    GetParam().use_for(fused);
    (trial % 2 == 0 ? fused.key : fused.value).set(0, 0, 20, 1, kBad[trial / 2]);
    fused.forward();
    for (std::int64_t row = 0; row < 90; ++row) {
      EXPECT_EQ(std::isnan(fused.output.get(0, 0, row, 1)), mixed_edges(0, row, 20) > 0) << row;
      EXPECT_FALSE(std::isnan(fused.output.get(0, 1, row, 1))) << row;
    }
  }
}

TEST_P(FusedKernel, WhatNobodySeesMayHoldAnything) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  Float32Case fused({1, 1, 1, 80, 100, 8, 8, {64, 64}}, mixed_edges, 3, DType::kFloat32);
  GetParam().use_for(fused);
  fused.keep.assign(100, 1);
  fused.keep[9] = 0;
  fused.key.set(0, 0, 9, 0, kNaN);
  fused.value.set(0, 0, 9, 2, kNaN);
  fused.query.set(0, 0, 5, 1, kNaN);             // row 5 has no edge
  fused.output_gradient.set(0, 0, 16, 1, kNaN);  // nor has row 16
  fused.forward();
  fused.backward();
  for (auto* array : {&fused.output, &fused.query_gradient, &fused.key_gradient, &fused.value_gradient}) {
    for (const double entry : array->values()) {
      ASSERT_TRUE(std::isfinite(entry));
    }
  }
  EXPECT_EQ(fused.query_gradient.get(0, 0, 5, 1), 0.0);
  EXPECT_EQ(fused.key_gradient.get(0, 0, 9, 0), 0.0);
}

// The gradient of an entry is NaN where an edge of a row that is not finite has it, and nowhere else.
TEST_P(FusedKernel, NaNStaysAtTheDistancesOfItsRow) {
  Float32Case fused({1, 1, 1, 90, 100, 8, 8, {64, 64}}, mixed_edges, 3, DType::kFloat32);
  GetParam().use_for(fused);
  fused.slopes = {0.01F};
  fused.query.set(0, 0, 70, 1, std::numeric_limits<double>::quiet_NaN());
  fused.forward();
  fused.backward();
  for (std::int64_t entry = 0; entry < fused.span(); ++entry) {
    const std::int64_t distance = entry - fused.distance_zero;
    EXPECT_EQ(std::isnan(fused.distance_gradient[static_cast<std::size_t>(entry)]), distance >= 0 && distance < 9)
        << distance;
  }
}

// A block of keys meets 64 new distances and 31 of the block before it: long rows, short R, and queries far behind.
TEST_P(FusedKernel, ARelativeProductOfLongRows) {
  if (!GetParam().knows_relative) {
    GTEST_SKIP() << "it has no relative product";
  }
  const auto causal = [](std::int64_t, std::int64_t query, std::int64_t key) { return key <= query + 200 ? 1 : 0; };
  for (const std::uint64_t seed : {2, 3, 7}) {
    Float32Case fused({1, 2, 1, 200, 400, 41, 24, {64, 64}}, causal, seed, DType::kFloat32);
    GetParam().use_for(fused);
    fused.draw_relative(seed);
    fused.scale = 0.1;
    fused.query_offset = 200;
    fused.relative_zero = 0;
    expect_agreement(fused, {2e-6, 1e-5});
  }
}

// A row of R with NaN reaches the rows of its distance, and what they reach.
TEST_P(FusedKernel, NaNInARelativeRowStaysInTheRowsThatHaveItsDistance) {
  if (!GetParam().knows_relative) {
    GTEST_SKIP() << "it has no relative product";
  }
  Float32Case fused({1, 1, 1, 90, 100, 8, 8, {64, 64}}, mixed_edges, 3, DType::kFloat32);
  GetParam().use_for(fused);
  fused.draw_relative(1);
  fused.relative_span = 30;
  fused.relative_rows.resize(240, 0.25F);
  fused.relative_zero = 0;
  fused.relative_at(0, 8, 5) = std::numeric_limits<float>::infinity();
  fused.forward();
  fused.backward();
  for (std::int64_t row = 0; row < 90; ++row) {
    const bool lost = row >= 8 && mixed_edges(0, row, row - 8) > 0;
    EXPECT_EQ(std::isnan(fused.output.get(0, 0, row, 3)), lost) << row;
    EXPECT_EQ(std::isnan(fused.query_gradient.get(0, 0, row, 3)), lost) << row;
    EXPECT_EQ(std::isnan(fused.relative_query_gradient.get(0, 0, row, 3)), lost) << row;
  }
  for (std::int64_t entry = 0; entry < 30; ++entry) {
    EXPECT_EQ(std::isnan(fused.relative_rows_gradient[static_cast<std::size_t>(entry * 8 + 3)]), entry < 9) << entry;
  }
}

// Keys 0 to 2 places before a query; of the first 40 queries one 8 places before, of query 80 one 20 places.
int spaced_edges(std::int64_t, std::int64_t query, std::int64_t key) {
  const std::int64_t before = query - key;
  return (before >= 0 && before < 3) || (query < 40 && before == 8) || (query == 80 && before == 20) ? 1 : 0;
}

// The entry of NaN is 8, or the last one: that of all distances beyond it.
std::vector<bool> lost_rows(std::int64_t entry) {
  std::vector<bool> lost(90, false);
  std::fill(lost.begin() + 8, lost.begin() + 40, entry == 8);
  lost[80] = entry != 8;
  return lost;
}

std::vector<bool> rows_of_nan(StridedArray<kernels::PlainStorage<float>>& array, std::int64_t rows) {
  std::vector<bool> result(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    result[static_cast<std::size_t>(row)] = std::isnan(array.get(0, 0, row, 3));
  }
  return result;
}

// An entry with NaN reaches the rows that have an edge of that distance, and what these rows reach.
TEST_P(FusedKernel, NaNInATableStaysInTheRowsThatHaveItsDistance) {
  for (const std::int64_t spoiled : {8, 15}) {
    Float32Case fused({1, 1, 1, 90, 100, 8, 8, {64, 64}}, spaced_edges, 3, DType::kFloat32);
    GetParam().use_for(fused);
    fused.distances.assign(16, 0.5F);
    fused.distances[static_cast<std::size_t>(spoiled)] = std::numeric_limits<float>::quiet_NaN();
    fused.forward();
    fused.backward();
    const std::vector<bool> lost = lost_rows(spoiled);
    std::vector<bool> reached(100, false);
    for (std::int64_t edge = 0; edge < 9000; ++edge) {
      const auto key = static_cast<std::size_t>(edge % 100);
      reached[key] =
          reached[key] || (lost[static_cast<std::size_t>(edge / 100)] && spaced_edges(0, edge / 100, edge % 100) > 0);
    }
    EXPECT_EQ(rows_of_nan(fused.output, 90), lost);
    EXPECT_EQ(rows_of_nan(fused.query_gradient, 90), lost);
    EXPECT_EQ(rows_of_nan(fused.key_gradient, 100), reached);
    EXPECT_EQ(rows_of_nan(fused.value_gradient, 100), reached);
    for (std::int64_t entry = 0; entry < 16; ++entry) {
      EXPECT_EQ(std::isnan(fused.distance_gradient[static_cast<std::size_t>(entry)]), entry < 3 || entry == spoiled)
          << entry;
    }
  }
}

std::vector<std::int32_t> shuffled(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), engine);
  return order;
}

// A permuted sequence on a layout of whole blocks is the causal one, permuted.
TEST_P(FusedKernel, PositionsMakeAPermutedSequenceCausal) {
  const auto all = [](std::int64_t, std::int64_t, std::int64_t) { return 1; };
  const auto causal = [](std::int64_t, std::int64_t query, std::int64_t key) { return key <= query ? 1 : 0; };
  constexpr std::int64_t kRows = 150;
  const Shape shape{1, 2, 2, kRows, kRows, 16, 8, {64, 64}};
  Float32Case plain(shape, causal, 4, DType::kFloat32);
  Float32Case sorted(shape, all, 4, DType::kFloat32);
  for (Float32Case* each : {&plain, &sorted}) {
    GetParam().use_for(*each);
  }
  sorted.causal = true;
  std::vector<std::int32_t> order;
  const auto copy = [&](auto& from, auto& to, std::int64_t head, std::int64_t columns, bool sorts) {
    for (std::int64_t item = 0; item < kRows * columns; ++item) {
      const std::int64_t row = item / columns;
      const std::int64_t position = order[static_cast<std::size_t>(row)];
      to.set(0, head, sorts ? row : position, item % columns,
             from.get(0, head, sorts ? position : row, item % columns));
    }
  };
  for (std::int64_t head = 0; head < 2; ++head) {
    order = shuffled(kRows, 6 + static_cast<std::uint64_t>(head));
    sorted.query_positions.insert(sorted.query_positions.end(), order.begin(), order.end());
    copy(plain.query, sorted.query, head, 16, true);
    copy(plain.key, sorted.key, head, 16, true);
    copy(plain.value, sorted.value, head, 8, true);
    copy(plain.output_gradient, sorted.output_gradient, head, 8, true);
  }
  sorted.key_positions = sorted.query_positions;
  for (Float32Case* each : {&plain, &sorted}) {
    each->forward();
    each->backward();
  }
  Float32Case back(shape, all, 4, DType::kFloat32);
  for (std::int64_t head = 0; head < 2; ++head) {
    const auto begin = sorted.query_positions.begin() + head * kRows;
    std::copy(begin, begin + kRows, order.begin());
    copy(sorted.output, back.output, head, 8, false);
    copy(sorted.query_gradient, back.query_gradient, head, 16, false);
    copy(sorted.key_gradient, back.key_gradient, head, 16, false);
    copy(sorted.value_gradient, back.value_gradient, head, 8, false);
  }
  expect_close(back.output, plain.output, 2e-6, 2e-6);
  expect_close(back.query_gradient, plain.query_gradient, 1e-5, 1e-6);
  expect_close(back.key_gradient, plain.key_gradient, 1e-5, 1e-6);
  expect_close(back.value_gradient, plain.value_gradient, 1e-5, 1e-6);
}

// Not to itself while there is another key; alone, to itself; nothing in sight, an empty row.
TEST_P(FusedKernel, ARowAttendsToItsOwnPositionWhereItSeesNoOther) {
  const auto all = [](std::int64_t, std::int64_t, std::int64_t) { return 1; };
  for (const std::int32_t tile : {1, 64}) {
    Float32Case fused({1, 1, 1, 70, 70, 8, 8, {tile, 64}}, all, 4, DType::kFloat32);
    GetParam().use_for(fused);
    fused.causal = fused.not_self = true;
    for (std::int32_t row = 0; row < 70; ++row) {
      fused.query_positions.push_back(69 - row);
      fused.key_positions.push_back(69 - row);
    }
    fused.query_positions[30] = -1;
    fused.forward();
    fused.backward();
    for (std::int64_t column = 0; column < 8; ++column) {
      EXPECT_EQ(fused.output.get(0, 0, 69, column), fused.value.get(0, 0, 69, column));
      EXPECT_FLOAT_EQ(static_cast<float>(fused.output.get(0, 0, 68, column)),
                      static_cast<float>(fused.value.get(0, 0, 69, column)));
      EXPECT_EQ(fused.query_gradient.get(0, 0, 69, column), 0.0);
      EXPECT_EQ(fused.output.get(0, 0, 30, column), 0.0);
    }
    EXPECT_EQ(fused.log_sum_exp[69], -1e5F);
    EXPECT_EQ(fused.log_sum_exp[30], -std::numeric_limits<float>::infinity());
  }
}

TEST_P(FusedKernel, AllPaddedRowsAreZero) {
  Float32Case fused({2, 2, 1, 70, 66, 10, 12, {64, 64}}, mixed_edges, 6, DType::kFloat32);
  GetParam().use_for(fused);
  fused.keep.assign(132, 0);
  std::fill(fused.keep.begin(), fused.keep.begin() + 66, std::uint8_t{1});
  fused.forward();
  fused.backward();
  for (std::int64_t row = 0; row < 70; ++row) {
    EXPECT_EQ(fused.output.get(1, 1, row, 3), 0.0);
    EXPECT_EQ(fused.query_gradient.get(1, 1, row, 3), 0.0);
    EXPECT_EQ(fused.log_sum_exp[static_cast<std::size_t>(140 + row)], -std::numeric_limits<float>::infinity());
  }
}

template <typename Case>
void expect_same_bits(const Shape& shape, DType dtype, const KernelVariant& variant, const ParallelFor& threads) {
  Case first(shape, mixed_edges, 5, dtype);
  Case second(shape, mixed_edges, 5, dtype);
  for (Case* each : {&first, &second}) {
    variant.use_for(*each);
    each->dropout = {0.2F, 9, 0};
    each->draw_distances(2);
    each->draw_positions(4);
    each->draw_relative(5);
    each->forward(each == &first ? kSerial : threads);
    each->backward(threads);
  }
  EXPECT_EQ(first.output.values(), second.output.values());
  EXPECT_EQ(first.query_gradient.values(), second.query_gradient.values());
  EXPECT_EQ(first.key_gradient.values(), second.key_gradient.values());
  EXPECT_EQ(first.value_gradient.values(), second.value_gradient.values());
  EXPECT_EQ(first.distance_gradient, second.distance_gradient);
  if (variant.knows_relative) {
    EXPECT_EQ(first.relative_query_gradient.values(), second.relative_query_gradient.values());
  }
  EXPECT_EQ(first.relative_rows_gradient, second.relative_rows_gradient);
}

TEST_P(FusedKernel, TwoRunsGiveTheSameBits) {
  expect_same_bits<Float32Case>({2, 4, 2, 150, 160, 16, 5, {64, 64}}, DType::kFloat32, GetParam(), kThreadParallel<4>);
  expect_same_bits<Float32Case>({1, 1, 1, 300, 290, 7, 16, {64, 64}}, DType::kFloat32, GetParam(), kThreadParallel<3>);
  expect_same_bits<BFloat16Case>({1, 3, 1, 150, 290, 8, 8, {64, 64}}, DType::kBFloat16, GetParam(), kThreadParallel<2>);
}

TEST_P(FusedKernel, FewHeadsOnManyThreadsEqualOneThread) {
  Float32Case serial({1, 2, 1, 300, 290, 24, 24, {64, 64}}, mixed_edges, 8, DType::kFloat32);
  Float32Case threaded({1, 2, 1, 300, 290, 24, 24, {64, 64}}, mixed_edges, 8, DType::kFloat32);
  GetParam().use_for(serial);
  GetParam().use_for(threaded);
  serial.forward();
  serial.backward();
  threaded.forward(kThreadParallel<4>);
  threaded.backward(kThreadParallel<4>);
  EXPECT_EQ(serial.output.values(), threaded.output.values());
  EXPECT_EQ(serial.key_gradient.values(), threaded.key_gradient.values());
  expect_close(threaded.query_gradient, serial.query_gradient, 1e-6, 1e-7);  // the same terms in another order
}

// Three ranges of keys: most queries are seen by one of them and summed in the result, those at the seams in memory.
TEST_P(FusedKernel, RangesOfKeysShareFewQueries) {
  const auto band = [](std::int64_t, std::int64_t query, std::int64_t key) {
    return std::abs(query - key) < 40 ? 1 : 0;
  };
  const Shape shape{1, 2, 1, 530, 500, 32, 16, {64, 64}};
  Float32Case serial(shape, band, 8, DType::kFloat32);
  Float32Case threaded(shape, band, 8, DType::kFloat32);
  Float32Case again(shape, band, 8, DType::kFloat32);
  for (Float32Case* each : {&serial, &threaded, &again}) {
    GetParam().use_for(*each);
    each->query_gradient.visit([](float& entry) { entry = 1e30F; });
    each->forward();
    each->backward(each == &serial ? kSerial : kThreadParallel<3>);
  }
  EXPECT_EQ(serial.key_gradient.values(), threaded.key_gradient.values());
  EXPECT_EQ(threaded.query_gradient.values(), again.query_gradient.values());
  expect_close(threaded.query_gradient, serial.query_gradient, 1e-6, 1e-7);  // the same terms in another order
}

TEST(FusedDispatch, SaysWhatItDoesNotTake) {
  Float64Case exact({1, 1, 1, 5, 5, 4, 4, {64, 64}}, mixed_edges, 1, DType::kFloat64);
  EXPECT_STREQ(kernels::fused_obstacle(exact.arguments()), "the fused kernels do not take float64");
  Float32Case tiled({1, 1, 1, 5, 5, 4, 4, {64, 32}}, mixed_edges, 1, DType::kFloat32);
  EXPECT_NE(kernels::fused_obstacle(tiled.arguments()), nullptr);
  Float32Case fine({1, 1, 1, 5, 5, 4, 4, {1, 64}}, mixed_edges, 1, DType::kFloat32);
  EXPECT_EQ(kernels::fused_obstacle(fine.arguments()), nullptr);
}

// The first query sees every key and every query the first key: a row and a column as long as all others together.
int global_edges(std::int64_t, std::int64_t query, std::int64_t key) {
  return query < 2 || key < 2 || (query == key && query % 3 != 0) ? 1 : 0;
}

template <typename Case>
void expect_split_equals_whole(DType dtype, const KernelVariant& variant, const Bounds& bounds) {
  const Shape shape{1, 1, 1, 100, 1500, 20, 24, {4, 64}};  // 25 blocks of queries, 24 of keys
  Case whole(shape, global_edges, 3, dtype);
  Case split(shape, global_edges, 3, dtype);
  Case again(shape, global_edges, 3, dtype);
  for (Case* each : {&whole, &split, &again}) {
    variant.use_for(*each);
    each->slopes = {0.001F};
    each->forward(each == &whole ? kSerial : kThreadParallel<4>);
    each->backward(each == &whole ? kSerial : kThreadParallel<4>);
  }
  // Sums of score gradients that are smaller than the gradients of values: an error as great as theirs.
  const std::vector<double> whole_distances(whole.distance_gradient.begin(), whole.distance_gradient.end());
  expect_near({split.distance_gradient.begin(), split.distance_gradient.end()}, whole_distances,
              bounds.gradient * largest(whole.value_gradient.values()));
  EXPECT_EQ(split.distance_gradient, again.distance_gradient);
  expect_close(split.output, whole.output, bounds.forward, bounds.forward);
  expect_close(split.query_gradient, whole.query_gradient, bounds.gradient, 1e-7);
  expect_close(split.key_gradient, whole.key_gradient, bounds.gradient, 1e-7);
  expect_close(split.value_gradient, whole.value_gradient, bounds.gradient, 1e-7);
  EXPECT_EQ(split.output.values(), again.output.values());
  EXPECT_EQ(split.log_sum_exp, again.log_sum_exp);
  EXPECT_EQ(split.query_gradient.values(), again.query_gradient.values());
  EXPECT_EQ(split.key_gradient.values(), again.key_gradient.values());
}

TEST_P(FusedKernel, ALongRowIsSharedByThreads) {
  expect_split_equals_whole<Float32Case>(DType::kFloat32, GetParam(), {1e-6, 2e-6});
  // The same rounded probabilities, summed in another order, then rounded: an ulp of 8 bits.
  expect_split_equals_whole<BFloat16Case>(DType::kBFloat16, GetParam(), {1.0 / 256, 1.0 / 256});
}

#if defined(__x86_64__)
TEST(FusedDispatch, TilesAreCheckedBeforeTheyAreTrusted) {
  if (!kernels::is_available(kernels::InstructionSet::kAvx512Bf16)) {
    GTEST_SKIP() << "this machine has no avx512bf16";
  }
  EXPECT_TRUE(emulated_product_is_right());
}
#endif

}  // namespace
}  // namespace weft::test
