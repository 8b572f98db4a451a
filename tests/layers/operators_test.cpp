// SPDX-License-Identifier: Apache-2.0
// Every autograd function of the layers room against central differences in float64, and against LibTorch's own
// operators.
#include <gtest/gtest.h>

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/utils.h>

#include "support/expect_error.h"
#include "support/piece_counter.h"
#include "support/torch_gradcheck.h"
#include "weft/layers/activation.h"
#include "weft/layers/attention/split_heads.h"
#include "weft/layers/dropout.h"
#include "weft/layers/linear.h"
#include "weft/layers/linear_cross_entropy.h"
#include "weft/layers/replay/recompute.h"
#include "weft/layers/rotary.h"

namespace weft::layers {
namespace {

using testing::expect_gradients;

at::TensorOptions float64() { return at::TensorOptions(at::kDouble); }

at::Tensor leaf(at::IntArrayRef shape) { return at::randn(shape, float64()).requires_grad_(true); }

at::Tensor labels_of(const std::vector<std::int64_t>& labels) { return at::tensor(labels, at::kLong); }

class Operators : public ::testing::Test {
 protected:
  void SetUp() override { torch::manual_seed(7); }
};

TEST_F(Operators, LinearHasTheRightGradients) {
  expect_gradients([](const auto& in) { return apply_linear(in[0], in[1], in[2]); },
                   {leaf({2, 3, 4}), leaf({5, 4}), leaf({5})});
  expect_gradients([](const auto& in) { return apply_linear(in[0], in[1], {}); }, {leaf({3, 4}), leaf({5, 4})});
  expect_gradients([](const auto& in) { return apply_linear(in[0].transpose(0, 1), in[1], {}); },
                   {leaf({3, 2, 4}), leaf({5, 4})});
}

TEST_F(Operators, LinearGivesGradientsOnlyWhereTheyAreAskedFor) {
  const at::Tensor x = leaf({3, 4});
  const at::Tensor weight = at::randn({5, 4}, float64());
  apply_linear(x, weight, at::randn({5}, float64())).sum().backward();
  EXPECT_TRUE(x.grad().defined());
  EXPECT_FALSE(weight.grad().defined());
}

TEST_F(Operators, LinearOverManyRowsIsComputedInPiecesWhereItIsWatched) {
  const at::NoGradGuard no_graph;
  Linear linear(512, 256, true, at::TensorOptions(at::kFloat));
  for (at::Tensor& parameter : linear->parameters()) {
    parameter.normal_();
  }
  linear->eval();
  const at::Tensor x = at::randn({2, 2000, 512});
  const at::Tensor expected = linear(x);
  const at::Tensor activated = linear->activated(x, Activation::kGelu);
  test::PieceCounter counter;
  const WatchedPieces watched(counter);
  // A product of other rows may add in another order.
  EXPECT_TRUE(linear(x).allclose(expected, 1e-4, 1e-3));
  EXPECT_GE(counter.tokens().size(), 2U);
  EXPECT_TRUE(linear->activated(x, Activation::kGelu).allclose(activated, 1e-4, 1e-3));
  const std::size_t before = counter.tokens().size();
  linear(x.narrow(1, 0, 200));  // few rows
  EXPECT_EQ(counter.tokens().size(), before);
}

TEST_F(Operators, LinearEqualsLibTorch) {
  const at::Tensor x = at::randn({2, 7, 16});
  const at::Tensor weight = at::randn({8, 16});
  const at::Tensor bias = at::randn({8});
  // Both are one addmm of the same numbers.
  EXPECT_TRUE(apply_linear(x, weight, bias).allclose(at::linear(x, weight, bias), 1e-6, 1e-6));
  test::expect_error(ErrorKind::kArgument, {"[2, 15]", "[8, 16]"},
                     [&] { apply_linear(at::randn({2, 15}), weight, bias); });
}

TEST_F(Operators, RowsOfALinearLayerAreSomeOfItsOutputs) {
  Linear linear(4, 6, true, float64());
  for (at::Tensor& parameter : linear->parameters()) {
    parameter.data().normal_();
  }
  const at::Tensor x = at::randn({3, 4}, float64());
  EXPECT_TRUE(linear->rows()(x).equal(linear(x)));
  EXPECT_TRUE(linear->rows(2, 3)(x).allclose(linear(x).narrow(1, 2, 3), 1e-12, 1e-12));
  EXPECT_TRUE(linear->rows(2, 3).detached()(x).equal(linear->rows(2, 3)(x)));
  EXPECT_FALSE(linear->rows().detached()(x).requires_grad());
  linear->rows(2, 3)(x).sum().backward();
  const at::Tensor gradient = linear->named_parameters()["bias"].grad();
  EXPECT_TRUE(gradient.equal(at::tensor({0.0, 0.0, 3.0, 3.0, 3.0, 0.0}, float64())));
  const Linear plain(4, 6, false, float64());
  EXPECT_FALSE(plain->rows(1, 2).bias().defined());
}

TEST_F(Operators, GatedActivationsHaveTheRightGradients) {
  const at::Tensor x = at::randn({5, 8}, float64());
  for (const auto& [gated, inside] : {std::pair{Activation::kSwiglu, Activation::kSilu},
                                      {Activation::kGeglu, Activation::kGelu},
                                      {Activation::kGegluNew, Activation::kGeluNew},
                                      {Activation::kReglu, Activation::kRelu}}) {
    EXPECT_TRUE(is_gated(gated));
    EXPECT_FALSE(is_gated(inside));
    expect_gradients([&](const auto& in) { return activate(in[0], gated); }, {leaf({3, 2, 8})});
    EXPECT_TRUE(activate(x, gated).equal(activate(x.narrow(1, 0, 4), inside) * x.narrow(1, 4, 4)));
  }
}

TEST_F(Operators, DropoutHasTheRightGradients) {
  expect_gradients([](const auto& in) { return seeded_dropout(in[0], 0.3, 11); }, {leaf({5, 7})});
}

TEST_F(Operators, SplitHeadsHasTheRightGradients) {
  RotaryTable table(4, 100.0);
  const Rotation rotation = table.at_positions(3, 5, float64());
  for (const Rotation& used : {rotation, Rotation{}}) {
    const auto joined = [&](const std::vector<at::Tensor>& in) {
      const Heads heads = split_heads(in[0], {4, 2}, used);
      return at::cat({heads.query.flatten(), heads.key.flatten(), heads.value.flatten()});
    };
    expect_gradients(joined, {leaf({2, 5, 32})});
  }
}

TEST_F(Operators, SplitHeadsTakesUnusedOutputs) {
  const at::Tensor fused = leaf({1, 3, 12});
  split_heads(fused, {1, 1}, {}).value.sum().backward();
  EXPECT_TRUE(fused.grad().narrow(2, 0, 8).eq(0).all().item<bool>());
  EXPECT_TRUE(fused.grad().narrow(2, 8, 4).eq(1).all().item<bool>());
}

TEST_F(Operators, RecomputeHasTheRightGradients) {
  const auto function = [](const std::vector<at::Tensor>& in) {
    const auto block = [weight = in[1]](const at::Tensor& x) {
      return seeded_dropout(apply_linear(x, weight, {}).tanh(), 0.2, 5);
    };
    return recompute(block, in[0], {in[1]});
  };
  expect_gradients(function, {leaf({3, 4}), leaf({4, 4})});
}

TEST_F(Operators, RecomputeRunsTwiceWithGradientsAndOnceWithout) {
  int runs = 0;
  const auto block = [&runs](const at::Tensor& x) {
    ++runs;
    return x.tanh();
  };
  recompute(block, leaf({3}), {}).sum().backward();
  EXPECT_EQ(runs, 2);
  const at::NoGradGuard without_gradients;
  recompute(block, at::randn({3}, float64()), {});
  EXPECT_EQ(runs, 3);
}

class Loss : public Operators {
 protected:
  const at::Tensor labels_ = labels_of({2, kIgnoredLabel, 0, 6, 6, kIgnoredLabel, 3});
};

TEST_F(Loss, HasTheRightGradients) {
  for (const std::int64_t chunk : {0, 1, 2, 5, 100}) {
    const auto with_bias = [&](const auto& in) { return linear_cross_entropy(in[0], {in[1], in[2]}, labels_, chunk); };
    expect_gradients(with_bias, {leaf({7, 4}), leaf({8, 4}), leaf({8})});
    const auto without = [&](const auto& in) { return linear_cross_entropy(in[0], {in[1], {}}, labels_, chunk) * 3.0; };
    expect_gradients(without, {leaf({7, 4}), leaf({8, 4})});
  }
}

TEST_F(Loss, EqualsPlainCrossEntropy) {
  const at::Tensor hidden = at::randn({7, 4}, float64());
  const at::Tensor weight = at::randn({8, 4}, float64());
  const at::Tensor bias = at::randn({8}, float64());
  const at::Tensor scores = at::linear(hidden, weight, bias);
  const at::Tensor expected = at::cross_entropy_loss(scores, labels_, {}, at::Reduction::Mean, kIgnoredLabel);
  const at::Tensor each = at::cross_entropy_loss(scores, labels_, {}, at::Reduction::None, kIgnoredLabel);
  for (const std::int64_t chunk : {0, 1, 3, 7}) {
    // float64 sums in another order
    EXPECT_NEAR(linear_cross_entropy(hidden, {weight, bias}, labels_, chunk).item<double>(), expected.item<double>(),
                1e-13);
    const LabelScores found = linear_cross_entropy_each(hidden, {weight, bias}, labels_, chunk);
    EXPECT_TRUE(found.nats.allclose(each, 0, 1e-13));
    EXPECT_TRUE(found.hits.equal(scores.argmax(1).eq(labels_)));
  }
}

TEST_F(Loss, SmoothsLabelsAsPyTorchDoes) {
  const at::Tensor hidden = at::randn({7, 4}, float64());
  const at::Tensor weight = at::randn({8, 4}, float64());
  const at::Tensor scores = at::linear(hidden, weight);
  for (const double smoothing : {0.1, 0.7}) {
    const at::Tensor expected =
        at::cross_entropy_loss(scores, labels_, {}, at::Reduction::Mean, kIgnoredLabel, smoothing);
    // float64 sums in another order
    EXPECT_NEAR(linear_cross_entropy(hidden, {weight, {}}, labels_, 3, smoothing).item<double>(),
                expected.item<double>(), 1e-13);
    const auto smooth = [&](const auto& in) { return linear_cross_entropy(in[0], {in[1], {}}, labels_, 2, smoothing); };
    expect_gradients(smooth, {leaf({7, 4}), leaf({8, 4})});
  }
}

TEST_F(Loss, IsZeroWithoutLabels) {
  const at::Tensor hidden = leaf({2, 4});
  const at::Tensor weight = leaf({8, 4});
  const at::Tensor loss = linear_cross_entropy(hidden, {weight, {}}, labels_of({kIgnoredLabel, kIgnoredLabel}), 0);
  EXPECT_EQ(loss.item<double>(), 0.0);
  loss.backward();
  EXPECT_EQ(hidden.grad().abs().max().item<double>(), 0.0);
  EXPECT_EQ(weight.grad().abs().max().item<double>(), 0.0);
}

TEST_F(Loss, StaysFiniteForExtremeScores) {
  const at::Tensor hidden = at::tensor({1e4F, -1e4F}).view({2, 1});
  const at::Tensor weight = at::tensor({1.0F, -1.0F}).view({2, 1}).requires_grad_(true);
  const at::Tensor loss = linear_cross_entropy(hidden, {weight, {}}, labels_of({1, 1}), 1);
  EXPECT_FLOAT_EQ(loss.item<float>(), 1e4F);
  loss.backward();
  EXPECT_TRUE(weight.grad().isfinite().all().item<bool>());
}

// Threads of the pool do not inherit the mode, and could not write to the tensors of the one that calls.
TEST_F(Loss, IsTheSameInInferenceModeOnTwoThreads) {
  const at::Tensor hidden = at::randn({600, 8}).requires_grad_();
  const at::Tensor weight = at::randn({700, 8}).requires_grad_();
  const at::Tensor bias = at::randn({700}).requires_grad_();
  const at::Tensor labels = at::randint(0, 700, {600}, at::kLong);
  const at::Tensor expected = linear_cross_entropy(hidden, {weight, bias}, labels, 0).detach();
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  {
    const c10::InferenceMode inference;
    EXPECT_TRUE(linear_cross_entropy(hidden, {weight, bias}, labels, 0).equal(expected));
    EXPECT_NEAR(linear_cross_entropy_each(hidden, {weight, bias}, labels, 0).nats.mean().item<double>(),
                expected.item<double>(), 1e-4);
    const at::Tensor own = at::randn({600, 8});
    EXPECT_TRUE(linear_cross_entropy(own, {weight.clone(), {}}, labels, 0).isfinite().item<bool>());
  }
  at::set_num_threads(before);
}

TEST_F(Loss, RefusesWrongLabels) {
  const at::Tensor hidden = at::randn({2, 4});
  const HeadWeights head{at::randn({8, 4}), {}};
  const auto of = [&](const at::Tensor& labels) {
    return [&, labels] { linear_cross_entropy(hidden, head, labels, 0); };
  };
  test::expect_error(ErrorKind::kArgument, {"label 8", "below 8"}, of(labels_of({1, 8})));
  test::expect_error(ErrorKind::kArgument, {"label -1", "-100"}, of(labels_of({-1, 2})));
  test::expect_error(ErrorKind::kArgument, {"int64 [2]", "[1]"}, of(labels_of({1})));
  test::expect_error(ErrorKind::kArgument, {"int64"}, of(at::tensor({1.0, 2.0})));
}

}  // namespace
}  // namespace weft::layers
