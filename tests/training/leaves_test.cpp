// SPDX-License-Identifier: Apache-2.0
// Parameters go in by name and stay the tensors that they were.
#include "weft/training/task.h"

#include <gtest/gtest.h>

#include "weft/layers/linear.h"

namespace weft::training {
namespace {

at::Tensor parameter(const layers::Linear& linear, const char* name) { return linear->named_parameters()[name]; }

layers::Linear filled(double value) {
  layers::Linear linear(3, 2, true, at::TensorOptions(at::kFloat));
  parameter(linear, "weight").detach().fill_(value);
  parameter(linear, "bias").detach().fill_(-value);
  return linear;
}

TEST(Leaves, HaveTheirNames) {
  const auto leaves = leaves_of(*filled(1));
  ASSERT_EQ(leaves.size(), 2U);
  EXPECT_EQ(leaves[0].first, "weight");
  EXPECT_EQ(leaves[1].first, "bias");
}

TEST(Leaves, ValuesAreCopiedIntoTheTensorsThatAreThere) {
  const layers::Linear source = filled(2);
  layers::Linear target = filled(1);
  const at::Tensor held = parameter(target, "weight");
  copy_leaves(*source, *target);
  EXPECT_TRUE(held.is_same(parameter(target, "weight")));
  EXPECT_TRUE(held.equal(parameter(source, "weight")));
  EXPECT_TRUE(parameter(target, "bias").equal(parameter(source, "bias")));
  EXPECT_TRUE(held.requires_grad());
}

TEST(FingerprintText, HasSixteenDigits) {
  EXPECT_EQ(fingerprint_text(0), "0000000000000000");
  EXPECT_EQ(fingerprint_text(0xABCDEF0123456789), "abcdef0123456789");
}

}  // namespace
}  // namespace weft::training
