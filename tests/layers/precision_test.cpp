// SPDX-License-Identifier: Apache-2.0
// Products under autocast: the numbers of bfloat16 storage with float32 sums, on every processor.
#include <gtest/gtest.h>

#include <ATen/autocast_mode.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <torch/utils.h>

#include "weft/layers/linear.h"
#include "weft/layers/linear_cross_entropy.h"
#include "weft/layers/precision.h"
#include "weft/layers/replay/recompute.h"

namespace weft::layers {
namespace {

/// Autocast to bfloat16 on the CPU for a scope.
class Autocast {
 public:
  Autocast() {
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCPU, true);
  }
  ~Autocast() { at::autocast::set_autocast_enabled(at::kCPU, false); }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
};

at::Tensor rounded(const at::Tensor& x) { return x.to(at::kBFloat16).to(at::kDouble); }

TEST(Precision, ProductsFollowAutocast) {
  const at::Tensor x = at::randn({2, 2});
  EXPECT_EQ(product_dtype(x), at::kFloat);
  const Autocast autocast;
  EXPECT_EQ(product_dtype(x), at::kBFloat16);
  EXPECT_EQ(product_dtype(x.to(at::kDouble)), at::kDouble);
}

TEST(Precision, LinearRoundsOperandsAndResult) {
  torch::manual_seed(3);
  const at::Tensor x = at::randn({4, 64}).requires_grad_(true);
  const at::Tensor weight = at::randn({8, 64}).requires_grad_(true);
  const at::Tensor bias = at::randn({8}).requires_grad_(true);
  const Autocast autocast;
  const at::Tensor y = apply_linear(x, weight, bias);
  ASSERT_EQ(y.scalar_type(), at::kBFloat16);
  const at::Tensor exact = at::linear(rounded(x), rounded(weight), rounded(bias));
  // bfloat16 has 8 bits: rounding moves a value by at most 2^-8 of itself, and a sum near a midpoint may fall to either
  // side
  EXPECT_TRUE(y.to(at::kDouble).allclose(exact, 1.0 / 128, 1e-3));
  y.sum().backward();
  EXPECT_EQ(x.grad().scalar_type(), at::kFloat);
  EXPECT_EQ(weight.grad().scalar_type(), at::kFloat);
  EXPECT_TRUE(weight.grad().to(at::kDouble).allclose(rounded(x).sum(0).expand({8, 64}), 1.0 / 128, 1e-2));
  EXPECT_TRUE(bias.grad().eq(4).all().item<bool>());
}

TEST(Precision, LossIsFloat32) {
  torch::manual_seed(4);
  const at::Tensor hidden = at::randn({6, 16}).requires_grad_(true);
  const at::Tensor weight = at::randn({10, 16}).requires_grad_(true);
  const at::Tensor labels = at::arange(6);
  const double exact = linear_cross_entropy(rounded(hidden), {rounded(weight), {}}, labels, 0).item<double>();
  const Autocast autocast;
  const at::Tensor loss = linear_cross_entropy(hidden, {weight, {}}, labels, 2);
  EXPECT_EQ(loss.scalar_type(), at::kFloat);
  EXPECT_NEAR(loss.item<double>(), exact, 0.02);  // logits near 10 round by at most 0.03 each, in both directions
  loss.backward();
  EXPECT_EQ(hidden.grad().scalar_type(), at::kFloat);
  EXPECT_EQ(weight.grad().scalar_type(), at::kFloat);
}

TEST(Precision, RecomputationSeesTheAutocastOfTheForwardPass) {
  torch::manual_seed(5);
  const at::Tensor x = at::randn({4, 16}).requires_grad_(true);
  const at::Tensor weight = at::randn({16, 16}).requires_grad_(true);
  const auto block = [&](const at::Tensor& in) {
    return apply_linear(apply_linear(in, weight, {}).tanh(), weight, {});
  };
  const auto gradients = [&](bool again) {
    x.mutable_grad().reset();
    at::Tensor y;
    {
      const Autocast autocast;
      y = again ? recompute(block, x, {weight}) : block(x);
    }
    y.sum().backward();  // autocast is off by now
    return x.grad().clone();
  };
  EXPECT_TRUE(gradients(true).equal(gradients(false)));
}

}  // namespace
}  // namespace weft::layers
