// SPDX-License-Identifier: Apache-2.0
// What a decoder keeps of its weights under autocast gives the same bits as weights that are rounded in each product,
// and follows the weights. On a GPU: tests/runs/pretended_steps_test.cpp.
#include <gtest/gtest.h>

#include <ATen/autocast_mode.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <torch/utils.h>

#include "weft/layers/inference/packing_for_steps.h"
#include "weft/layers/linear.h"
#include "weft/layers/precision.h"
#include "weft/layers/replay/kept_operands.h"

namespace weft::layers {
namespace {

class AutocastToBfloat16 {
 public:
  AutocastToBfloat16() {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  }
  ~AutocastToBfloat16() { at::autocast::set_autocast_enabled(at::kCPU, false); }
  AutocastToBfloat16(const AutocastToBfloat16&) = delete;
  AutocastToBfloat16& operator=(const AutocastToBfloat16&) = delete;
};

TEST(KeptOperandsOfADecoder, GiveTheBitsOfWeightsThatAreRoundedEachTime) {
  torch::manual_seed(5);
  const at::NoGradGuard without_gradients;
  Linear linear(24, 40, true, at::TensorOptions(at::kFloat));
  for (const at::Tensor& parameter : linear->parameters()) {
    parameter.data().normal_();
  }
  linear->eval();
  const AutocastToBfloat16 autocast;
  for (const std::int64_t rows : {1, 2, 5, 33}) {
    const at::Tensor x = at::randn({rows, 24});
    const at::Tensor expected = linear(x);
    EXPECT_EQ(expected.scalar_type(), at::kBFloat16);
    const KeepingOperands keeps(true);
    EXPECT_TRUE(linear(x).equal(expected)) << rows;
    EXPECT_TRUE(linear(x).equal(expected)) << rows;
    EXPECT_TRUE(linear->activated(x, Activation::kGelu).equal(activate(expected, Activation::kGelu))) << rows;
    // Sums of a packed form may come in another order: a step of bfloat16 of numbers to 32.
    const PackingForSteps packs(true);
    EXPECT_LE((linear(x) - expected).abs().max().item<double>(), 0.125) << rows;
    EXPECT_EQ(linear->activated(x, Activation::kGelu).scalar_type(), at::kBFloat16);
  }
}

TEST(KeptOperandsOfADecoder, AreKeptWhileItWritesAndFollowTheWeights) {
  torch::manual_seed(5);
  const at::NoGradGuard without_gradients;
  const at::Tensor weight = at::randn({4, 3});
  const at::Tensor bias = at::randn({4});
  KeptOperands kept;
  EXPECT_FALSE(kept.of(weight, bias, at::kBFloat16).weight.defined());
  {
    const KeepingOperands keeps(false);
    EXPECT_FALSE(KeepingOperands::is_on());
    EXPECT_FALSE(kept.of(weight, bias, at::kBFloat16).weight.defined());
  }
  const KeepingOperands keeps(true);
  EXPECT_TRUE(KeepingOperands::is_on());
  const Operands first = kept.of(weight, bias, at::kBFloat16);
  EXPECT_TRUE(first.weight.equal(operand(weight, at::kBFloat16)) && first.bias.equal(operand(bias, at::kBFloat16)));
  EXPECT_TRUE(kept.of(weight, bias, at::kBFloat16).weight.is_same(first.weight));
  EXPECT_FALSE(kept.of(weight, bias, at::kFloat).weight.defined());
  weight.add_(1.0);
  EXPECT_TRUE(kept.of(weight, bias, at::kBFloat16).weight.equal(operand(weight, at::kBFloat16)));
  {
    const KeepingOperands inner(false);
    EXPECT_TRUE(KeepingOperands::is_on()) << "who keeps goes on";
  }
}

TEST(KeptOperandsOfADecoder, AProductWithoutALayerTakesThem) {
  torch::manual_seed(5);
  const at::NoGradGuard without_gradients;
  const at::Tensor weight = at::randn({40, 24});
  const at::Tensor x = at::randn({2, 24});
  KeptOperands kept;
  PackedWeight packed;
  const AutocastToBfloat16 autocast;
  const at::Tensor expected = apply_linear(x, weight, {});
  const KeepingOperands keeps(true);
  EXPECT_TRUE(apply_linear(x, weight, {}, kept, packed).equal(expected));
  const PackingForSteps several_texts(true);
  EXPECT_EQ(apply_linear(x, weight, {}, kept, packed).scalar_type(), at::kBFloat16) << "emulated or not";
  EXPECT_TRUE(kept.of(weight, {}, at::kBFloat16).weight.defined());
}

}  // namespace
}  // namespace weft::layers
