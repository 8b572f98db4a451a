// SPDX-License-Identifier: Apache-2.0
// Rows, columns and channels by the equation, from any position on, with gradients.
#include "weft/layers/grid_positions.h"

#include <ATen/TensorIndexing.h>
#include <gtest/gtest.h>

#include "support/torch_fixture.h"

namespace weft::layers {
namespace {

TEST(GridPositions, OfAPictureAreTheSumOfThreeTables) {
  torch::manual_seed(3);
  GridPositions positions(GridSides{3, 5, 2}, 4, at::TensorOptions(at::kDouble));
  {
    const at::NoGradGuard without_gradients;
    for (const at::Tensor& table : positions->parameters()) {
      table.normal_();
    }
  }
  const at::Tensor all = positions(0, 30);
  for (std::int64_t p = 0; p < 30; ++p) {
    const at::Tensor expected = positions->rows[p / 10] + positions->columns[p / 2 % 5] + positions->channels[p % 2];
    EXPECT_TRUE(all[p].equal(expected)) << p;
  }
  EXPECT_TRUE(positions(7, 11).equal(all.narrow(0, 7, 11)));
  EXPECT_TRUE(positions(29, 1).equal(all.narrow(0, 29, 1)));
  // Every row of a table is added as often as the other two have rows.
  all.sum().backward();
  EXPECT_TRUE(positions->rows.grad().eq(10).all().item<bool>());
  EXPECT_TRUE(positions->columns.grad().eq(6).all().item<bool>());
  EXPECT_TRUE(positions->channels.grad().eq(15).all().item<bool>());
}

TEST(GridPositions, OfAStrideAreTheSumOfTwoTables) {
  torch::manual_seed(4);
  GridPositions positions(GridSides{4, 7, 0}, 3, at::TensorOptions(at::kDouble));
  EXPECT_EQ(positions->parameters().size(), 2U);
  {
    const at::NoGradGuard without_gradients;
    for (const at::Tensor& table : positions->parameters()) {
      table.normal_();
    }
  }
  const at::Tensor all = positions(0, 28);
  for (std::int64_t p = 0; p < 28; ++p) {
    EXPECT_TRUE(all[p].equal(positions->rows[p / 7] + positions->columns[p % 7])) << p;
  }
  EXPECT_TRUE(positions(5, 20).equal(all.narrow(0, 5, 20)));
  all.sum().backward();
  EXPECT_TRUE(positions->rows.grad().eq(7).all().item<bool>());
  EXPECT_TRUE(positions->columns.grad().eq(4).all().item<bool>());
}

}  // namespace
}  // namespace weft::layers
