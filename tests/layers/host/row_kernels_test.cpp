// SPDX-License-Identifier: Apache-2.0
// Passes of a training step over large tensors against LibTorch's operators.
#include "weft/layers/host/row_kernels.h"

#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>

#include "weft/layers/activation.h"
#include "weft/layers/linear.h"
#include "weft/layers/linear_cross_entropy.h"

namespace weft::layers {
namespace {

double far_apart(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

TEST(RowKernels, SumsOfColumnsOfAnyTensor) {
  const at::Tensor x = at::randn({300, 70});
  const at::Tensor right = x.to(at::kDouble).sum(0);
  EXPECT_LT(far_apart(column_sums(x, at::kFloat), right), 1e-4);
  EXPECT_LT(far_apart(column_sums(x.t().contiguous().t(), at::kFloat), right), 1e-4);  // not in the order of memory
  EXPECT_LT(far_apart(column_sums(x.to(at::kDouble), at::kDouble), right), 1e-12);
  const at::Tensor rounded = x.to(at::kBFloat16);
  const at::Tensor found = column_sums(rounded, at::kFloat);
  EXPECT_EQ(found.scalar_type(), at::kFloat);
  EXPECT_LT(far_apart(found, rounded.to(at::kDouble).sum(0)), 1e-4);
}

TEST(RowKernels, PartsAreAddedInTheDtypeOfTheTotal) {
  const at::Tensor part = at::randn({33, 5}).to(at::kBFloat16);
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    at::Tensor total = at::empty({33, 5}, type);
    add_part(total, part, true);
    add_part(total, part, false);
    EXPECT_EQ(far_apart(total, part.to(type) * 2), 0.0);
  }
}

TEST(RowKernels, GeluFollowsLibTorchForwardsAndBackwards) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const at::Tensor x = at::randn({40, 77}, type).requires_grad_(true);
    const at::Tensor own = activate(x, Activation::kGeluNew);
    const at::Tensor given = at::randn({40, 77}, type);
    own.backward(given);
    const at::Tensor gradient = x.grad().clone();
    x.mutable_grad().reset();
    const at::Tensor right = at::gelu(x, "tanh");
    right.backward(given);
    const double bound = type == at::kBFloat16 ? 4e-2 : 4e-6;  // an ulp of numbers up to 4, and some of float32
    EXPECT_LT(far_apart(own.detach(), right.detach()), bound);
    EXPECT_LT(far_apart(gradient, x.grad()), bound);
  }
}

TEST(RowKernels, GeluWithoutGradientsHasTheSameBits) {
  const at::Tensor x = at::randn({40, 77}).requires_grad_(true);
  const at::Tensor with = activate(x, Activation::kGeluNew);
  EXPECT_TRUE(with.requires_grad());
  EXPECT_TRUE(activate(x.detach(), Activation::kGeluNew).equal(with.detach()));
}

TEST(RowKernels, LossesAndGradientsFollowLibTorch) {
  const at::Tensor bias = at::randn({1500});
  const at::Tensor labels = at::randint(1500, {9, 1}, at::TensorOptions().dtype(at::kLong));
  for (const double smoothing : {0.0, 0.2}) {
    const at::Tensor scores = at::randn({9, 1500});
    const at::Tensor logits = (scores + bias).requires_grad_(true);
    const at::Tensor right =
        at::cross_entropy_loss(logits, labels.squeeze(1), {}, at::Reduction::None, kIgnoredLabel, smoothing);
    right.sum().backward();
    ASSERT_TRUE(takes_row_losses(scores, bias));
    const at::Tensor losses = at::empty({9, 1});
    row_losses(scores, bias, labels, {.smoothing = smoothing, .scale = 1.0, .gathers = true}, losses);
    EXPECT_LT(far_apart(losses.squeeze(1), right.detach()), 1e-5);
    EXPECT_LT(far_apart(scores, logits.grad()), 1e-6);
  }
  EXPECT_FALSE(takes_row_losses(at::randn({9, 1500}, at::kDouble), {}));
  EXPECT_FALSE(takes_row_losses(at::randn({1500, 9}).t(), {}));
}

/// Chunks of a head in the dtype of its sums are added by the product itself; the gradient of a loss of which a part
/// counts is that part.
TEST(RowKernels, GradientsOfAHeadDoNotDependOnChunks) {
  const at::Tensor hidden = at::randn({50, 8}).requires_grad_(true);
  const at::Tensor weight = at::randn({40, 8}).requires_grad_(true);
  const at::Tensor bias = at::randn({40}).requires_grad_(true);
  const at::Tensor labels = at::randint(40, {50}, at::TensorOptions().dtype(at::kLong));
  const auto gradients = [&](std::int64_t chunk, double share) {
    for (const at::Tensor* leaf : {&hidden, &weight, &bias}) {
      leaf->mutable_grad().reset();
    }
    at::Tensor loss = linear_cross_entropy(hidden, {weight, bias}, labels, chunk);
    loss = share == 1.0 ? loss : loss * share;
    loss.backward();
    return std::vector<at::Tensor>{hidden.grad().clone(), weight.grad().clone(), bias.grad().clone()};
  };
  const auto whole = gradients(0, 1.0);
  const auto cut = gradients(7, 1.0);
  const auto half = gradients(0, 0.5);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_LT(far_apart(whole[i], cut[i]), 1e-6);
    EXPECT_LT(far_apart(whole[i] * 0.5, half[i]), 1e-7);
  }
}

}  // namespace
}  // namespace weft::layers
