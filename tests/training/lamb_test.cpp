// SPDX-License-Identifier: Apache-2.0
// LAMB against algorithm 2 of You et al. written out in double.
#include "weft/training/optimizers/lamb.h"

#include <ATen/ops/allclose.h>
#include <torch/types.h>

#include <cmath>

#include <gtest/gtest.h>

namespace weft::training {
namespace {

constexpr AdamOptions kLamb{0.9, 0.999, 1e-6};

struct LambOracle {
  at::Tensor parameter;
  double weight_decay;
  at::Tensor first = torch::zeros_like(parameter);
  at::Tensor second = torch::zeros_like(parameter);

  void step(const at::Tensor& gradient, double rate, int t) {
    first = kLamb.beta1 * first + (1 - kLamb.beta1) * gradient;
    second = kLamb.beta2 * second + (1 - kLamb.beta2) * gradient * gradient;
    const at::Tensor ratio =
        first / (1 - std::pow(kLamb.beta1, t)) / ((second / (1 - std::pow(kLamb.beta2, t))).sqrt() + kLamb.epsilon);
    const at::Tensor update = ratio + weight_decay * parameter;
    const double size = parameter.norm().item<double>();
    const double length = update.norm().item<double>();
    parameter = parameter - rate * (size > 0 && length > 0 ? size / length : 1.0) * update;
  }
};

TEST(Lamb, EqualsTheAlgorithmInDouble) {
  torch::manual_seed(6);
  const std::vector<ParameterGroup> groups = {
      {{{"a", torch::randn({7, 33}).requires_grad_()}, {"zero", torch::zeros({5}).requires_grad_()}}, 0.1, 1.0},
      {{{"b", torch::randn({19}).requires_grad_()}}, 0.0, 0.5}};
  std::vector<LambOracle> oracles;
  for (const ParameterGroup& group : groups) {
    for (const auto& [name, parameter] : group.parameters) {
      oracles.push_back({parameter.detach().to(at::kDouble), group.weight_decay});
    }
  }
  Lamb optimizer(groups, kLamb);
  for (int t = 1; t <= 20; ++t) {
    std::size_t which = 0;
    for (const ParameterGroup& group : groups) {
      for (const auto& [name, parameter] : group.parameters) {
        const at::Tensor gradient = torch::randn_like(parameter);
        parameter.mutable_grad() = gradient * 4;
        oracles[which++].step(gradient.to(at::kDouble), 0.02 * group.rate_factor, t);
      }
    }
    optimizer.step(0.02, 4.0);
  }
  std::size_t which = 0;
  for (const ParameterGroup& group : groups) {
    for (const auto& [name, parameter] : group.parameters) {
      // Twenty float32 updates of values around 1, whose ratio of norms rounds as well.
      EXPECT_TRUE(at::allclose(parameter.to(at::kDouble), oracles[which++].parameter, 5e-6, 5e-6)) << name;
    }
  }
}

}  // namespace
}  // namespace weft::training
