// SPDX-License-Identifier: Apache-2.0
// Every mode over one window and over several, worked by hand; and the same modes as tensors.
#include "weft/tasks/embedding/window_pooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "support/expect_error.h"
#include "weft/tasks/embedding/recipe.h"

namespace weft::tasks {
namespace {

using checkpoint::PoolingMode;
using Vector = std::vector<double>;

constexpr PoolingMode kAll[] = {PoolingMode::kCls,          PoolingMode::kMax,
                                PoolingMode::kMean,         PoolingMode::kMeanSqrtLength,
                                PoolingMode::kWeightedMean, PoolingMode::kLastToken};

const std::vector<float> kFirst = {3, 4, 0, 0, 3, -4};   // places 0, 1, 2
const std::vector<float> kSecond = {9, 9, 1, 2, -3, 4};  // places 1, 2, 3

Vector of_one_window(PoolingMode mode, std::int64_t first = 0) {
  const WindowPart part = window_part({.hidden = kFirst, .width = 2, .first = first, .begin = 0, .end = 3}, mode);
  return join_parts({&part, 1}, mode);
}

// The first window answers for its first two rows, the second for its last two.
Vector of_two_windows(PoolingMode mode) {
  const std::vector<WindowPart> parts = {
      window_part({.hidden = kFirst, .width = 2, .begin = 0, .end = 2}, mode),
      window_part({.hidden = kSecond, .width = 2, .begin = 1, .end = 3, .place = 1}, mode)};
  return join_parts(parts, mode);
}

TEST(WindowPooling, OfOneWindow) {
  EXPECT_EQ(of_one_window(PoolingMode::kCls), (Vector{3, 4}));
  EXPECT_EQ(of_one_window(PoolingMode::kMax), (Vector{3, 4}));
  EXPECT_EQ(of_one_window(PoolingMode::kMean), (Vector{2, 0}));
  EXPECT_EQ(of_one_window(PoolingMode::kMeanSqrtLength), (Vector{6 / std::sqrt(3.0), 0}));
  EXPECT_EQ(of_one_window(PoolingMode::kWeightedMean), (Vector{12.0 / 6, -8.0 / 6}));
  EXPECT_EQ(of_one_window(PoolingMode::kLastToken), (Vector{3, -4}));
}

TEST(WindowPooling, LeavesOutAPrompt) {
  EXPECT_EQ(of_one_window(PoolingMode::kCls, 1), (Vector{0, 0}));
  EXPECT_EQ(of_one_window(PoolingMode::kMax, 1), (Vector{3, 0}));
  EXPECT_EQ(of_one_window(PoolingMode::kMean, 1), (Vector{1.5, -2}));
  EXPECT_EQ(of_one_window(PoolingMode::kWeightedMean, 1), (Vector{9.0 / 5, -12.0 / 5}));
  EXPECT_EQ(of_one_window(PoolingMode::kLastToken, 2), (Vector{3, -4}));
  for (const PoolingMode mode : kAll) {
    test::expect_error(ErrorKind::kArgument, {"at least one row"}, [&] { of_one_window(mode, 3); });
  }
}

TEST(WindowPooling, OfTwoWindows) {
  EXPECT_EQ(of_two_windows(PoolingMode::kCls), (Vector{6, 6.5}));
  EXPECT_EQ(of_two_windows(PoolingMode::kMax), (Vector{3, 4}));
  EXPECT_EQ(of_two_windows(PoolingMode::kMean), (Vector{0.25, 2.5}));
  EXPECT_EQ(of_two_windows(PoolingMode::kMeanSqrtLength), (Vector{0.5, 5}));
  EXPECT_EQ(of_two_windows(PoolingMode::kWeightedMean), (Vector{(3 + 0 + 3 - 12) / 10.0, (4 + 0 + 6 + 16) / 10.0}));
  EXPECT_EQ(of_two_windows(PoolingMode::kLastToken), (Vector{0, 0}));
}

TEST(WindowPooling, NeedsWholeRows) {
  test::expect_error(ErrorKind::kArgument, {"rows of 2", "3"}, [] {
    const std::vector<float> hidden = {1, 2, 3};
    window_part({.hidden = hidden, .width = 2, .begin = 0, .end = 1}, PoolingMode::kMean);
  });
}

// The tensors have padding before and behind the same rows.
TEST(PoolTensor, IsTheSame) {
  at::Tensor hidden = at::zeros({2, 5, 2});
  const at::Tensor rows = at::tensor(at::ArrayRef<float>(kFirst)).view({3, 2});
  hidden[0].narrow(0, 0, 3).copy_(rows);
  hidden[1].narrow(0, 2, 3).copy_(rows);
  hidden[0].narrow(0, 3, 2).fill_(100);
  hidden[1].narrow(0, 0, 2).fill_(100);
  const at::Tensor mask = at::tensor({1, 1, 1, 0, 0, 0, 0, 1, 1, 1}, at::kLong).view({2, 5});
  for (const PoolingMode mode : kAll) {
    for (const std::int64_t prompt : {0, 1}) {
      const checkpoint::PoolingModule pooling{.modes = {mode}, .width = 2, .include_prompt = false};
      const at::Tensor found = pool_tensor(pooling, hidden, mask, prompt);
      const Vector expected = of_one_window(mode, prompt);
      // A tokeniser that pads on the left gives other weights by place, as in the library.
      const std::int64_t checked = mode == PoolingMode::kWeightedMean ? 1 : 2;
      for (std::int64_t row = 0; row < checked; ++row) {
        EXPECT_NEAR(found[row][0].item<double>(), expected[0], 1e-6) << pooling_mode_name(mode) << " row " << row;
        EXPECT_NEAR(found[row][1].item<double>(), expected[1], 1e-6) << pooling_mode_name(mode) << " row " << row;
      }
    }
  }
}

}  // namespace
}  // namespace weft::tasks
