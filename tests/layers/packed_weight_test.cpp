// SPDX-License-Identifier: Apache-2.0
// Products with packed weights against those without.
#include <gtest/gtest.h>

#include <ATen/ops/from_blob.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <torch/utils.h>

#include "support/torch_fixture.h"
#include "weft/layers/inference/packing_for_steps.h"
#include "weft/layers/linear.h"
#include "weft/layers/precision.h"

namespace weft::layers {
namespace {

class PackedLinear : public ::testing::TestWithParam<at::ScalarType> {
 protected:
  PackedLinear() {
    torch::manual_seed(3);
    weight_.data().normal_();
    bias_.data().normal_();
    linear_->eval();
  }

  at::Tensor input() const { return at::randn({3, 30, 24}).to(GetParam()); }

  /// Numbers up to 30 in float32; a rounding of bfloat16 at the end and one in between otherwise.
  static double tolerance() { return GetParam() == at::kFloat ? 2e-5 : 0.3; }

  Linear linear_{24, 40, true, at::TensorOptions(GetParam())};
  at::Tensor weight_ = linear_->named_parameters()["weight"];
  at::Tensor bias_ = linear_->named_parameters()["bias"];
};

TEST_P(PackedLinear, AgreesWithTheProductAndItsActivation) {
  const at::Tensor x = input();
  const at::Tensor expected = apply_linear(x, weight_, bias_).detach();
  const at::NoGradGuard without_gradients;
  EXPECT_LT(test::largest_difference(linear_(x), expected), tolerance());
  for (const Activation activation :
       {Activation::kGelu, Activation::kGeluNew, Activation::kRelu, Activation::kSilu, Activation::kSwiglu}) {
    EXPECT_LT(test::largest_difference(linear_->activated(x, activation), activate(expected, activation)), tolerance());
  }
}

TEST_P(PackedLinear, FollowsItsWeight) {
  const at::NoGradGuard without_gradients;
  const at::Tensor x = input();
  const at::Tensor before = linear_(x);
  EXPECT_TRUE(linear_(x).equal(before));
  weight_.mul_(2);
  bias_.mul_(2);
  EXPECT_LT(test::largest_difference(linear_(x), before * 2), tolerance());
  weight_.set_data(weight_ * 2);
  EXPECT_GT(test::largest_difference(linear_(x), before * 2), 1.0);
}

// Another storage at the same address, with the same count of writes: what an allocator gives a model that went to
// another dtype and back.
TEST_P(PackedLinear, KnowsStoragesAndNotAddresses) {
  const at::NoGradGuard without_gradients;
  const at::Tensor x = input();
  const at::Tensor memory = at::randn({40, 24}).to(GetParam());
  const auto at_the_same_address = [&] {
    return at::from_blob(memory.mutable_data_ptr(), memory.sizes(), memory.options());
  };
  weight_.set_data(at_the_same_address());
  const at::Tensor before = linear_(x);
  memory.mul_(2);
  weight_.set_data(at_the_same_address());
  bias_.mul_(2);
  EXPECT_LT(test::largest_difference(linear_(x), before * 2), 2 * tolerance());
}

TEST_P(PackedLinear, FollowsAModelToAnotherDtypeAndBack) {
  const at::NoGradGuard without_gradients;
  const at::ScalarType other = GetParam() == at::kFloat ? at::kBFloat16 : at::kFloat;
  const at::Tensor x = input();
  for (int round = 0; round < 20; ++round) {
    linear_(x);
    linear_->to(other);
    weight_.mul_(-1.5);  // as another checkpoint would be read into it
    linear_->to(GetParam());
    const at::Tensor expected = at::linear(x, weight_, bias_);
    ASSERT_LT(test::largest_difference(linear_(x), expected) / (1 + expected.abs().max().item<double>()), tolerance())
        << round;
    weight_.mul_(1 / 1.5);
  }
}

TEST_P(PackedLinear, ServesFewRowsOfSteps) {
  const at::NoGradGuard without_gradients;
  const at::Tensor x = input().flatten(0, 1).narrow(0, 0, 5);
  const at::Tensor expected = apply_linear(x, weight_, bias_);
  EXPECT_FALSE(PackedWeight::serves(x, weight_, {}));
  for (const bool keeps_forms : {true, false}) {
    const PackingForSteps steps(keeps_forms);
    EXPECT_EQ(PackedWeight::serves(x, weight_, {}), PackedWeight::serves(input(), weight_, {}));
    EXPECT_FALSE(PackedWeight::serves(x.narrow(0, 0, 1), weight_, {}));
    EXPECT_LT(test::largest_difference(linear_(x), expected), tolerance());
    weight_.mul_(1);  // a form that was packed before is not looked at
    EXPECT_LT(test::largest_difference(linear_(x), expected), tolerance());
  }
}

TEST_P(PackedLinear, ServesGatesOfStepsAlone) {
  const at::NoGradGuard without_gradients;
  const at::Tensor x = input().flatten(0, 1);
  const at::Tensor expected = activate(apply_linear(x, weight_, bias_), Activation::kSwiglu);
  EXPECT_FALSE(is_product_of_step(x.narrow(0, 0, 5), weight_));
  const PackingForSteps steps(true);
  EXPECT_EQ(is_product_of_step(x.narrow(0, 0, 5), weight_), PackedWeight::serves(x, weight_, {}));
  EXPECT_FALSE(is_product_of_step(x.narrow(0, 0, 64), weight_));
  EXPECT_FALSE(is_product_of_step(x.narrow(0, 0, 1), weight_));
  for (const std::int64_t rows : {1, 5, 64}) {
    const at::Tensor found = linear_->activated(x.narrow(0, 0, rows), Activation::kSwiglu);
    EXPECT_LT(test::largest_difference(found, expected.narrow(0, 0, rows)), tolerance()) << rows;
  }
}

TEST_P(PackedLinear, ManyRowsAgree) {
  const at::NoGradGuard without_gradients;
  const at::Tensor x = at::randn({1030, 24}).to(GetParam());
  EXPECT_LT(test::largest_difference(linear_(x), apply_linear(x, weight_, bias_)), tolerance());
}

TEST_P(PackedLinear, LeavesGradientsAlone) {
  const at::Tensor x = input();
  EXPECT_FALSE(PackedWeight::serves(x, weight_, {}));
  EXPECT_TRUE(linear_->activated(x, Activation::kGelu).requires_grad());
}

INSTANTIATE_TEST_SUITE_P(Dtypes, PackedLinear, ::testing::Values(at::kFloat, at::kBFloat16));

TEST(PackedWeight, ServesWhatOneDnnMultipliesFast) {
  const at::NoGradGuard without_gradients;
  const at::Tensor weight = at::randn({4, 8});
  const at::Tensor x = at::randn({64, 8});
  EXPECT_TRUE(PackedWeight::serves(x, weight, Activation::kGelu));
  EXPECT_FALSE(PackedWeight::serves(x, weight, Activation::kSwiglu));
  EXPECT_FALSE(PackedWeight::serves(x.narrow(0, 0, 63), weight, {}));
  {
    const WithoutPacking off;
    EXPECT_FALSE(PackedWeight::serves(x, weight, {}));
  }
  EXPECT_TRUE(PackedWeight::serves(x, weight, {}));
  EXPECT_FALSE(PackedWeight::serves(x.to(at::kDouble), weight.to(at::kDouble), {}));
  EXPECT_FALSE(PackedWeight::serves(x.to(at::kDouble), weight, {}));
  EXPECT_EQ(PackedWeight::serves(x.to(at::kBFloat16), weight.to(at::kBFloat16), {}),
            !is_emulated(at::kCPU, at::kBFloat16));
}

}  // namespace
}  // namespace weft::layers
