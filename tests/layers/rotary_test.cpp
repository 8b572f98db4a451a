// SPDX-License-Identifier: Apache-2.0
// Rotary positions and the split into heads.
#include <gtest/gtest.h>

#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>
#include <torch/utils.h>

#include <cmath>
#include <utility>

#include "support/expect_error.h"
#include "weft/attention/backends/list.h"
#include "weft/attention/backends/portable/portable_backend.h"
#include "weft/layers/attention/split_heads.h"
#include "weft/layers/rotary.h"

namespace weft::layers {
namespace {

at::TensorOptions in_double() { return at::TensorOptions(at::kDouble); }

TEST(Rotary, TurnsEachPairByItsAngle) {
  RotaryTable table(6, 10000.0);
  const Rotation rotation = table.at_positions(40, 3, in_double());
  const at::Tensor x = at::randn({2, 3, 3, 6}, in_double());
  const at::Tensor y = rotate(x, rotation, false);
  for (std::int64_t row = 0; row < 3; ++row) {
    for (std::int64_t pair = 0; pair < 3; ++pair) {
      const double angle = static_cast<double>(40 + row) * std::pow(10000.0, -2.0 * static_cast<double>(pair) / 6.0);
      const double first = x[1][2][row][pair].item<double>();
      const double second = x[1][2][row][pair + 3].item<double>();
      EXPECT_NEAR(y[1][2][row][pair].item<double>(), first * std::cos(angle) - second * std::sin(angle), 1e-12);
      EXPECT_NEAR(y[1][2][row][pair + 3].item<double>(), second * std::cos(angle) + first * std::sin(angle), 1e-12);
    }
  }
  EXPECT_TRUE(rotate(y, rotation, true).allclose(x, 0, 1e-14));
}

// An evaluation in inference mode, then training: the table is kept for the backward pass.
TEST(Rotary, ATableMadeInInferenceModeServesTraining) {
  RotaryTable table(8, 10000.0);
  {
    const c10::InferenceMode inference;
    table.at_positions(0, 5, in_double());
  }
  const at::Tensor fused = at::randn({1, 5, 24}, in_double()).requires_grad_();
  const Heads parts = split_heads(fused, {1, 1}, table.at_positions(0, 5, in_double()));
  parts.query.sum().backward();
  EXPECT_TRUE(fused.grad().defined());
}

TEST(Rotary, ScoresDependOnDistanceAlone) {
  torch::manual_seed(1);
  RotaryTable table(8, 10000.0);
  const at::Tensor query = at::randn({1, 1, 1, 8}, in_double());
  const at::Tensor key = at::randn({1, 1, 1, 8}, in_double());
  const auto score = [&](std::int64_t q, std::int64_t k) {
    const at::Tensor turned = rotate(query, table.at_positions(q, 1, in_double()), false);
    return turned.mul(rotate(key, table.at_positions(k, 1, in_double()), false)).sum().item<double>();
  };
  EXPECT_NEAR(score(17, 5), score(65536 + 17, 65536 + 5), 1e-10);
  EXPECT_GT(std::abs(score(17, 5) - score(17, 6)), 1e-6);
}

TEST(Rotary, LaterPositionsAreThoseOfALongerTable) {
  RotaryTable grown(8, 10000.0);
  grown.at_positions(0, 10, at::TensorOptions(at::kFloat));
  RotaryTable whole(8, 10000.0);
  const Rotation later = grown.at_positions(700, 9, at::TensorOptions(at::kFloat));
  const Rotation all = whole.at_positions(0, 5000, at::TensorOptions(at::kFloat));
  EXPECT_TRUE(later.cosine.equal(all.cosine.narrow(0, 700, 9)));
  EXPECT_TRUE(later.sine.equal(all.sine.narrow(0, 700, 9)));
}

TEST(Rotary, RotatesLowPrecisionInFloat32) {
  RotaryTable table(8, 10000.0);
  const Rotation rotation = table.at_positions(0, 64, at::TensorOptions(at::kBFloat16));
  EXPECT_EQ(rotation.cosine.scalar_type(), at::kFloat);
  const at::Tensor x = at::randn({2, 2, 64, 8}).to(at::kBFloat16);
  EXPECT_TRUE(rotate(x, rotation, false).equal(rotate(x.to(at::kFloat), rotation, false).to(at::kBFloat16)));
}

TEST(SplitHeads, LaysOutQueriesThenKeysThenValues) {
  const at::Tensor fused = at::randn({2, 5, 32});
  const Heads heads = split_heads(fused, {4, 2}, {});
  EXPECT_TRUE(heads.query.equal(fused.narrow(2, 0, 16).view({2, 5, 4, 4}).transpose(1, 2)));
  EXPECT_TRUE(heads.key.equal(fused.narrow(2, 16, 8).view({2, 5, 2, 4}).transpose(1, 2)));
  EXPECT_TRUE(heads.value.equal(fused.narrow(2, 24, 8).view({2, 5, 2, 4}).transpose(1, 2)));
  EXPECT_EQ(heads.value.const_data_ptr<float>(), fused.const_data_ptr<float>() + 24);  // no copy
  RotaryTable table(4, 10000.0);
  const Rotation rotation = table.at_positions(7, 5, fused.options());
  EXPECT_TRUE(split_heads(fused, {4, 2}, rotation).key.equal(rotate(heads.key.contiguous(), rotation, false)));
}

TEST(Rotary, ACallHasARotationForEachTable) {
  RotaryTables tables;
  tables.add(8, 10000.0);
  tables.add(8, 500.0);
  tables.add(6, 500.0);
  tables.add(8, 10000.0);
  const Rotations rotations = tables.at_positions(3, 4, in_double());
  for (const auto& [head_dim, theta] : {std::pair<std::int64_t, double>{8, 10000.0}, {8, 500.0}, {6, 500.0}}) {
    EXPECT_TRUE(
        rotations.of(head_dim, theta).sine.equal(RotaryTable(head_dim, theta).at_positions(3, 4, in_double()).sine));
  }
  EXPECT_FALSE(rotations.of(8, 0.0).defined());
  test::expect_error(ErrorKind::kArgument, {"base 7", "8 columns"}, [&] { rotations.of(8, 7.0); });
}

TEST(Rotary, IsTurnedByTheFirstBackendThatTakesIt) {
  RotaryTable table(6, 10000.0);
  const Rotation rotation = table.at_positions(40, 3, in_double());
  const at::Tensor x = at::randn({2, 3, 3, 6}, in_double());
  const at::Tensor expected = rotate(x, rotation, true);
  const attention::BackendsInUse in_use({&attention::kPortableBackend});
  EXPECT_LT((rotate(x, rotation, true) - expected).abs().max().item<double>(), 1e-15);
  const attention::Backend none{.name = "none"};
  const attention::BackendsInUse nobody_in_use({&none});
  test::expect_error(ErrorKind::kUnsupported, {"rotation", "none: it has nothing"}, [&] { rotate(x, rotation, true); });
}

}  // namespace
}  // namespace weft::layers
