// SPDX-License-Identifier: Apache-2.0
// The fused optimiser against algorithm 2 of Loshchilov and Hutter written out in double, and what decays.
#include "weft/training/optimizers/adamw.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <torch/types.h>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/training/optimizers/parameter_groups.h"

namespace weft::training {
namespace {

constexpr AdamOptions kAdamW{0.9, 0.95, 1e-8};
constexpr double kDecay = 0.1;

// Matrices decay, the rest does not.
std::vector<ParameterGroup> two_groups(const NamedTensors& parameters) {
  TrainerConfig config;
  config.weight_decay = kDecay;
  return parameter_groups(parameters, config);
}

// One parameter of the oracle, all in float64.
struct Oracle {
  at::Tensor parameter;
  double weight_decay;
  at::Tensor first = torch::zeros_like(parameter);
  at::Tensor second = torch::zeros_like(parameter);

  void step(const at::Tensor& gradient, double rate, int t) {
    parameter = parameter * (1 - rate * weight_decay);
    first = kAdamW.beta1 * first + (1 - kAdamW.beta1) * gradient;
    second = kAdamW.beta2 * second + (1 - kAdamW.beta2) * gradient * gradient;
    const at::Tensor corrected_first = first / (1 - std::pow(kAdamW.beta1, t));
    const at::Tensor corrected_second = second / (1 - std::pow(kAdamW.beta2, t));
    parameter = parameter - rate * corrected_first / (corrected_second.sqrt() + kAdamW.epsilon);
  }
};

NamedTensors three_parameters() {
  torch::manual_seed(5);
  return {{"embeddings.tokens", torch::randn({7, 33}).requires_grad_()},
          {"linear.weight", torch::randn({19, 23}).requires_grad_()},
          {"linear.bias", torch::randn({129}).requires_grad_()}};
}

TEST(AdamW, EqualsTheAlgorithmInDouble) {
  const NamedTensors parameters = three_parameters();
  std::vector<Oracle> oracles;
  for (const auto& [name, parameter] : parameters) {
    oracles.push_back({parameter.detach().to(at::kDouble), name == "linear.weight" ? kDecay : 0.0});
  }
  AdamW optimizer(two_groups(parameters), kAdamW);
  for (int t = 1; t <= 20; ++t) {
    const double rate = 0.02 / t;
    const double divisor = t % 3 == 0 ? 2.5 : 1.0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const at::Tensor gradient = torch::randn_like(parameters[i].second);
      parameters[i].second.mutable_grad() = gradient;
      oracles[i].step(gradient.to(at::kDouble) / divisor, rate, t);
    }
    optimizer.step(rate, divisor);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    // Twenty float32 updates of values around 1: a few units of 6e-8 each.
    EXPECT_TRUE(at::allclose(parameters[i].second.to(at::kDouble), oracles[i].parameter, 2e-6, 2e-6))
        << parameters[i].first;
  }
}

// Whoever keeps a form of a parameter, as packed weights do, asks its version.
TEST(AdamW, AnUpdateIsANewVersionOfAParameter) {
  const NamedTensors parameters = three_parameters();
  AdamW optimizer(two_groups(parameters), kAdamW);
  std::vector<std::int64_t> before;
  for (const auto& [name, parameter] : parameters) {
    parameter.mutable_grad() = torch::ones_like(parameter);
    before.push_back(parameter._version());
  }
  optimizer.step(0.1);
  for (std::size_t at = 0; at < before.size(); ++at) {
    EXPECT_GT(parameters[at].second._version(), before[at]) << parameters[at].first;
  }
}

TEST(AdamW, LeavesParametersWithoutGradientAlone) {
  const NamedTensors parameters = three_parameters();
  const at::Tensor before = parameters[1].second.detach().clone();
  AdamW optimizer(two_groups(parameters), kAdamW);
  EXPECT_FALSE(optimizer.gradient_norm().defined());
  parameters[2].second.mutable_grad() = torch::full({129}, 2.0);
  EXPECT_NEAR(optimizer.gradient_norm().item<double>(), 2.0 * std::sqrt(129.0), 1e-5);  // float32
  optimizer.step(0.1);
  EXPECT_TRUE(at::equal(parameters[1].second, before));
  optimizer.clear_gradients();
  EXPECT_FALSE(parameters[2].second.grad().defined());
}

TEST(AdamW, GoesOnFromItsStateToTheLastBit) {
  const auto train = [](AdamW& optimizer, const NamedTensors& parameters, int from, int to) {
    for (int t = from; t < to; ++t) {
      torch::manual_seed(static_cast<std::uint64_t>(t));
      for (const auto& [name, parameter] : parameters) {
        at::Tensor(parameter).mutable_grad() = torch::randn_like(parameter);
      }
      optimizer.step(0.01);
    }
  };
  const NamedTensors through = three_parameters();
  AdamW one(two_groups(through), kAdamW);
  train(one, through, 0, 5);
  NamedTensors saved;
  for (const auto& [name, tensor] : one.state()) {
    saved.emplace_back(name, tensor.clone());
  }
  NamedTensors again;
  for (const auto& [name, parameter] : through) {
    again.emplace_back(name, parameter.detach().clone().requires_grad_());
  }
  AdamW two(two_groups(again), kAdamW);
  two.load_state(saved, one.steps());
  train(one, through, 5, 9);
  train(two, again, 5, 9);
  for (std::size_t i = 0; i < through.size(); ++i) {
    EXPECT_TRUE(at::equal(through[i].second, again[i].second));
  }
}

TEST(AdamW, RefusesAStateThatDoesNotFit) {
  AdamW optimizer(two_groups(three_parameters()), kAdamW);
  NamedTensors state = optimizer.state();
  state.emplace_back("first_moment.other", torch::zeros({1}));
  test::expect_error(ErrorKind::kFormat, {"first_moment.other"}, [&] { optimizer.load_state(state, 1); });
  state.pop_back();
  state[0].second = torch::zeros({2, 3});
  test::expect_error(ErrorKind::kFormat, {state[0].first, "[2, 3]"}, [&] { optimizer.load_state(state, 1); });
  const std::string last = state.back().first;
  state.pop_back();
  state[0].second = optimizer.state()[0].second;
  test::expect_error(ErrorKind::kFormat, {last}, [&] { optimizer.load_state(state, 1); });
}

}  // namespace
}  // namespace weft::training
