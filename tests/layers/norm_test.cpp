// SPDX-License-Identifier: Apache-2.0
// Each kind of norm against its equation in float64, its gradients, and its precision.
#include "weft/layers/norm.h"

#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>

#include <vector>

#include "support/torch_gradcheck.h"

namespace weft::layers {
namespace {

constexpr double kNormExact = 1e-12;  // float64
constexpr std::int64_t kNormWidth = 6;

Norm norm_of(const NormConfig& config, at::ScalarType type = at::kDouble) {
  at::manual_seed(4);
  Norm norm(kNormWidth, config, at::TensorOptions(type));
  const at::NoGradGuard without_gradients;
  for (at::Tensor& parameter : norm->parameters()) {
    parameter.copy_(at::randn(parameter.sizes()));
  }
  return norm;
}

double norm_gap(const at::Tensor& found, const at::Tensor& expected) {
  return (found.to(at::kDouble) - expected).abs().max().item<double>();
}

const NormConfig kRoot{.kind = NormKind::kRms, .epsilon = 0.1};
const NormConfig kWithoutBias{.bias = false, .epsilon = 0.1};

TEST(Norm, IsItsEquation) {
  const at::Tensor x = at::randn({2, 5, kNormWidth}, at::kDouble) + 0.7;
  Norm root = norm_of(kRoot);
  EXPECT_LT(norm_gap(root(x), x / (x * x).mean(-1, true).add(0.1).sqrt() * root->weight), kNormExact);
  EXPECT_FALSE(root->bias.defined());
  const at::Tensor centred = x - x.mean(-1, true);
  const at::Tensor scaled = centred / (centred * centred).mean(-1, true).add(0.1).sqrt();
  Norm without_bias = norm_of(kWithoutBias);
  EXPECT_LT(norm_gap(without_bias(x), scaled * without_bias->weight), kNormExact);
  Norm whole = norm_of({.epsilon = 0.1});
  EXPECT_LT(norm_gap(whole(x), scaled * whole->weight + whole->bias), kNormExact);
  Norm none = norm_of({.kind = NormKind::kNone});
  EXPECT_TRUE(none(x).is_same(x));
  EXPECT_TRUE(none->parameters().empty());
}

TEST(Norm, GradientsAreThoseOfTheFunction) {
  for (const NormConfig& config : {kRoot, kWithoutBias}) {
    const Norm norm = norm_of(config);
    testing::expect_gradients([&](const std::vector<at::Tensor>& in) { return Norm(norm)->forward(in[0]); },
                              {at::randn({2, 3, kNormWidth}, at::kDouble)});
    const at::Tensor x = at::randn({4, kNormWidth}, at::kDouble);
    const at::Tensor direction = at::randn({4, kNormWidth}, at::kDouble);
    const at::Tensor fixed = norm->with_fixed_parameters(x.clone().requires_grad_());
    (fixed * direction).sum().backward();
    EXPECT_FALSE(norm->weight.grad().defined());
    const at::Tensor y = Norm(norm)->forward(x);
    (y * direction).sum().backward();
    // Linear in the weight.
    EXPECT_LT(norm_gap(norm->weight.grad(), (y.detach() / norm->weight.detach() * direction).sum(0)), 1e-10);
  }
}

TEST(Norm, SumsOfHalfTypesAreInFloat32) {
  Norm root = norm_of(kRoot, at::kFloat);
  const at::Tensor x = at::randn({64, kNormWidth}) * 300;
  const at::Tensor exact = root(x).detach().to(at::kDouble);
  root->to(at::kBFloat16);
  const at::Tensor rounded = root(x.to(at::kBFloat16));
  EXPECT_EQ(rounded.scalar_type(), at::kBFloat16);
  EXPECT_LT(norm_gap(rounded, exact), 0.02 * exact.abs().max().item<double>());
}

}  // namespace
}  // namespace weft::layers
