// SPDX-License-Identifier: Apache-2.0
// Each kind of norm against its equation in float64, its gradients, its precision, and the sums in front of it.
#include "weft/layers/norm.h"

#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>

#include <vector>

#include "support/torch_gradcheck.h"
#include "weft/layers/inference/packed_weight.h"

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

// At inference the kernels take more than 64 rows.
struct SumRows {
  at::Tensor x;
  at::Tensor given;
};

SumRows rows_of_sum(std::int64_t rows, at::ScalarType type) {
  at::manual_seed(7);
  return {(at::randn({2, rows, kNormWidth}) + 2).to(type), at::randn({2, rows, kNormWidth}).to(type)};
}

TEST(NormOfSum, IsTheNormOfTheSum) {
  const at::NoGradGuard without_gradients;
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const double bound = type == at::kFloat ? 2e-6 : 1.0 / 128;  // a share of the largest: some roundings
    for (const NormConfig& config : {kRoot, kWithoutBias, NormConfig{}}) {
      Norm norm = norm_of(config, type);
      norm->eval();
      Norm exact = norm_of(config, type);
      exact->to(at::kDouble);
      for (const std::int64_t rows : {3, 70, 5000}) {
        const SumRows made = rows_of_sum(rows, type);
        const at::Tensor before = made.x.clone();
        const at::Tensor expected = exact((made.x + made.given).to(at::kDouble));
        const at::Tensor found = norm->of_sum(made.x, made.given.clone());
        EXPECT_EQ(found.scalar_type(), type);
        EXPECT_LT(norm_gap(found, expected), bound * expected.abs().max().item<double>())
            << rows << " rows of " << type;
        EXPECT_LT(norm_gap(norm(made.x + made.given), expected), bound * expected.abs().max().item<double>());
        EXPECT_TRUE(made.x.equal(before));
      }
    }
  }
}

TEST(NormOfSum, IsWrittenWhereTheSumWas) {
  const at::NoGradGuard without_gradients;
  Norm norm = norm_of({}, at::kFloat);
  norm->eval();
  const SumRows made = rows_of_sum(70, at::kFloat);
  EXPECT_EQ(norm->of_sum(made.x, made.given).const_data_ptr(), made.given.const_data_ptr());
}

// Rows that lie otherwise than one behind the other, or share their memory, are no concern of the kernel.
TEST(NormOfSum, TakesGivenRowsThatLieApart) {
  const at::NoGradGuard without_gradients;
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const double bound = type == at::kFloat ? 2e-6 : 1.0 / 128;  // as above: not all of them go to the kernel
    for (const NormConfig& config : {kRoot, NormConfig{}}) {
      Norm norm = norm_of(config, type);
      norm->eval();
      const SumRows made = rows_of_sum(70, type);
      const auto expect_norm_of = [&](const at::Tensor& given, const at::Tensor& found) {
        const at::Tensor expected = norm(made.x + given);
        EXPECT_LT(norm_gap(found, expected), bound * expected.abs().max().item<double>()) << type;
      };
      const at::Tensor turned = made.given.transpose(0, 1).contiguous().transpose(0, 1);
      expect_norm_of(made.given, norm->of_sum(made.x, turned));
      const at::Tensor wide = at::full({2, 70, 3 * kNormWidth}, 5, made.given.options());
      wide.narrow(2, kNormWidth, kNormWidth).copy_(made.given);
      expect_norm_of(made.given, norm->of_sum(made.x, wide.narrow(2, kNormWidth, kNormWidth)));
      for (const std::int64_t beside : {0, 2}) {
        EXPECT_TRUE(wide.narrow(2, beside * kNormWidth, kNormWidth).eq(5).all().item<bool>()) << beside;
      }
      const at::Tensor row = made.given.narrow(0, 0, 1).narrow(1, 0, 1).clone();
      const at::Tensor before = row.clone();
      expect_norm_of(row, norm->of_sum(made.x, row.expand_as(made.x)));
      EXPECT_TRUE(row.equal(before)) << type;
    }
  }
}

TEST(NormOfSum, RoundsAsWithGradientsWhereItRunsAgain) {
  Norm norm = norm_of({}, at::kFloat);
  const SumRows made = rows_of_sum(70, at::kFloat);
  const at::Tensor expected = norm(made.x + made.given).detach();
  EXPECT_TRUE(norm->of_sum(made.x, made.given).equal(expected));
  const at::NoGradGuard without_gradients;
  EXPECT_TRUE(norm->of_sum(made.x, made.given.clone()).equal(expected));  // a training norm
  norm->eval();
  const WithoutPacking again;
  EXPECT_TRUE(norm->of_sum(made.x, made.given.clone()).equal(expected));
}

TEST(NormOfSum, TakesOtherDtypesAndShapes) {
  const at::NoGradGuard without_gradients;
  Norm norm = norm_of({}, at::kFloat);
  norm->eval();
  const SumRows made = rows_of_sum(70, at::kFloat);
  const at::Tensor half = made.given.to(at::kBFloat16);
  EXPECT_TRUE(norm->of_sum(made.x, half).equal(norm(made.x + half)));
  const at::Tensor turned = made.x.transpose(0, 1).contiguous().transpose(0, 1);
  EXPECT_TRUE(norm->of_sum(turned, made.given.clone()).equal(norm(turned + made.given)));
  const at::Tensor one = made.given.narrow(0, 0, 1);
  EXPECT_TRUE(norm->of_sum(made.x, one).equal(norm(made.x + one)));
}

}  // namespace
}  // namespace weft::layers
