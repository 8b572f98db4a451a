// SPDX-License-Identifier: Apache-2.0
// The plain backward kernel: central differences of the definition, empty rows, padding, half types, determinism over
// threads.
#include <gtest/gtest.h>

#include <utility>

#include "kernels/kernel_case.h"
#include "support/thread_parallel.h"

namespace weft::test {
namespace {

using kernels::DType;

// d loss / d entry by central differences, for every third entry of an array.
void expect_gradient(Float64Case& kernel_case, Float64Case::Array& array, Float64Case::Array& gradient) {
  constexpr double kStep = 1e-5;
  std::vector<double> expected;
  int count = 0;
  array.visit([&](double& entry) {
    if (count++ % 3 != 0) {
      expected.push_back(std::numeric_limits<double>::quiet_NaN());
      return;
    }
    const double kept = entry;
    entry = kept + kStep;
    const double above = kernel_case.loss();
    entry = kept - kStep;
    const double below = kernel_case.loss();
    entry = kept;
    expected.push_back((above - below) / (2 * kStep));
  });
  const std::vector<double> found = gradient.values();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t at = 0; at < found.size(); ++at) {
    if (!std::isnan(expected[at])) {
      // The differences are good to step^2 and 1e-16 / step; log multiplicities are float32 in the layout.
      ASSERT_NEAR(found[at], expected[at], 1e-6 * (1 + std::abs(expected[at]))) << at;
    }
  }
}

void expect_gradients(Float64Case& kernel_case) {
  kernel_case.forward();
  kernel_case.backward();
  expect_gradient(kernel_case, kernel_case.query, kernel_case.query_gradient);
  expect_gradient(kernel_case, kernel_case.key, kernel_case.key_gradient);
  expect_gradient(kernel_case, kernel_case.value, kernel_case.value_gradient);
}

TEST(BackwardKernel, EqualsCentralDifferences) {
  Float64Case kernel_case({1, 2, 1, 14, 17, 3, 4, {4, 8}}, mixed_edges, 1, DType::kFloat64);
  expect_gradients(kernel_case);
}

TEST(BackwardKernel, EqualsCentralDifferencesWithPaddingAndDropout) {
  Float64Case kernel_case({2, 2, 2, 9, 13, 2, 3, {64, 64}}, mixed_edges, 2, DType::kFloat64);
  kernel_case.dropout = {0.4F, 5, 1};
  for (std::int64_t position = 0; position < 26; ++position) {
    kernel_case.keep.push_back(position % 4 != 1 && position < 23 ? 1 : 0);
  }
  expect_gradients(kernel_case);
}

TEST(BackwardKernel, EqualsCentralDifferencesWithAPositionBias) {
  Float64Case kernel_case({1, 2, 1, 9, 13, 2, 3, {64, 64}}, mixed_edges, 4, DType::kFloat64);
  kernel_case.slopes = {0.5F, 0.25F, 0.125F, 0.0625F, 0.75F, 0.1F};
  expect_gradients(kernel_case);
}

TEST(BackwardKernel, EqualsCentralDifferencesWithPositions) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    Float64Case kernel_case({2, 2, 1, 9, 13, 2, 3, {4, 8}}, mixed_edges, seed, DType::kFloat64);
    kernel_case.draw_positions(seed);
    expect_gradients(kernel_case);
  }
}

TEST(BackwardKernel, EqualsCentralDifferencesOfARelativeProduct) {
  Float64Case kernel_case({2, 2, 1, 9, 13, 2, 3, {4, 8}}, mixed_edges, 6, DType::kFloat64);
  kernel_case.draw_relative(6);
  kernel_case.relative_zero = 3;
  kernel_case.query_offset = 1;
  expect_gradients(kernel_case);
  expect_gradient(kernel_case, kernel_case.relative_query, kernel_case.relative_query_gradient);
  constexpr double kStep = 1e-5;
  for (std::size_t entry = 0; entry < kernel_case.relative_rows.size(); ++entry) {
    const double kept = std::exchange(kernel_case.relative_rows[entry], kernel_case.relative_rows[entry] + kStep);
    const double above = kernel_case.loss();
    kernel_case.relative_rows[entry] = kept - kStep;
    const double below = kernel_case.loss();
    kernel_case.relative_rows[entry] = kept;
    EXPECT_NEAR(kernel_case.relative_rows_gradient[entry], (above - below) / (2 * kStep), 1e-6) << entry;
  }
}

TEST(BackwardKernel, EqualsCentralDifferencesOfADistanceTable) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    Float64Case kernel_case({2, 2, 1, 9, 13, 2, 3, {4, 8}}, mixed_edges, seed, DType::kFloat64);
    kernel_case.draw_distances(seed);
    kernel_case.distances.resize(static_cast<std::size_t>(kernel_case.distance_rows) * 2 * 7);  // some lie beyond it
    kernel_case.distance_zero = 3;
    kernel_case.query_offset = static_cast<std::int64_t>(seed) - 2;
    kernel_case.dropout = {0.3F, seed, 0};
    expect_gradients(kernel_case);
    constexpr double kStep = 1e-5;
    for (std::size_t entry = 0; entry < kernel_case.distances.size(); ++entry) {
      const double kept = std::exchange(kernel_case.distances[entry], kernel_case.distances[entry] + kStep);
      const double above = kernel_case.loss();
      kernel_case.distances[entry] = kept - kStep;
      const double below = kernel_case.loss();
      kernel_case.distances[entry] = kept;
      EXPECT_NEAR(kernel_case.distance_gradient[entry], (above - below) / (2 * kStep), 1e-6) << seed << " " << entry;
    }
  }
}

TEST(BackwardKernel, EmptyRowsAndPaddedKeysGetZeroWhateverTheirMemoryHolds) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  Float32Case kernel_case({1, 1, 1, 30, 30, 4, 4, {8, 8}}, mixed_edges, 3, DType::kFloat32);
  kernel_case.keep.assign(30, 1);
  kernel_case.keep[9] = 0;
  kernel_case.key.set(0, 0, 9, 0, kNaN);
  kernel_case.value.set(0, 0, 9, 2, kNaN);
  kernel_case.query.set(0, 0, 5, 1, kNaN);             // row 5 has no edge
  kernel_case.output_gradient.set(0, 0, 16, 1, kNaN);  // nor has row 16
  kernel_case.forward();
  kernel_case.backward();
  for (auto* gradient : {&kernel_case.query_gradient, &kernel_case.key_gradient, &kernel_case.value_gradient}) {
    for (const double entry : gradient->values()) {
      ASSERT_TRUE(std::isfinite(entry));
    }
  }
  for (std::int64_t column = 0; column < 4; ++column) {
    EXPECT_EQ(kernel_case.query_gradient.get(0, 0, 5, column), 0.0);
    EXPECT_EQ(kernel_case.query_gradient.get(0, 0, 16, column), 0.0);
    EXPECT_EQ(kernel_case.key_gradient.get(0, 0, 9, column), 0.0);
    EXPECT_EQ(kernel_case.value_gradient.get(0, 0, 9, column), 0.0);
  }
}

TEST(BackwardKernel, FloatsAreNearFloat64) {
  const Shape shape{1, 4, 2, 60, 75, 16, 16, {32, 32}};
  Float64Case exact(shape, mixed_edges, 4, DType::kFloat64);
  Float32Case single(shape, mixed_edges, 4, DType::kFloat32);
  BFloat16Case brain(shape, mixed_edges, 4, DType::kBFloat16);
  exact.forward();
  exact.backward();
  single.forward();
  single.backward();
  brain.forward();
  brain.backward();
  const auto compare = [](const std::vector<double>& expected, const std::vector<double>& found, double tolerance) {
    for (std::size_t at = 0; at < expected.size(); ++at) {
      ASSERT_NEAR(found[at], expected[at], tolerance * (1 + std::abs(expected[at]))) << at;
    }
  };
  compare(exact.key_gradient.values(), single.key_gradient.values(), 1e-5);  // sums of up to 240 float32 terms
  compare(exact.query_gradient.values(), single.query_gradient.values(), 1e-5);
  compare(exact.value_gradient.values(), single.value_gradient.values(), 1e-5);
  // Inputs rounded to 8 bits: each term is off by up to 1%, and they partly cancel.
  compare(exact.key_gradient.values(), brain.key_gradient.values(), 0.1);
  compare(exact.query_gradient.values(), brain.query_gradient.values(), 0.1);
  compare(exact.value_gradient.values(), brain.value_gradient.values(), 0.1);
}

TEST(BackwardKernel, SameBitsForAnyNumberOfThreads) {
  const Shape shape{2, 4, 2, 70, 90, 8, 5, {16, 16}};
  Float32Case serial(shape, mixed_edges, 5, DType::kFloat32);
  Float32Case threaded(shape, mixed_edges, 5, DType::kFloat32);
  serial.dropout = threaded.dropout = {0.2F, 9, 0};
  serial.forward();
  serial.backward();
  threaded.forward(kThreadParallel<4>);
  threaded.backward(kThreadParallel<3>);
  EXPECT_EQ(serial.query_gradient.values(), threaded.query_gradient.values());
  EXPECT_EQ(serial.key_gradient.values(), threaded.key_gradient.values());
  EXPECT_EQ(serial.value_gradient.values(), threaded.value_gradient.values());
}

}  // namespace
}  // namespace weft::test
