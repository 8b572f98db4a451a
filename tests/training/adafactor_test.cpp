// SPDX-License-Identifier: Apache-2.0
// Adafactor against transformers' own over ten steps of random gradients.
#include "weft/training/optimizers/adafactor.h"

#include <torch/types.h>

#include <gtest/gtest.h>

#include "support/torch_fixture.h"
#include "weft/core/error.h"

namespace weft::training {
namespace {

void expect_equal_to_transformers(const std::string& fixture_name, bool scaled) {
  const test::Fixture fixture(fixture_name);
  NamedTensors parameters;
  for (const char* name : {"matrix", "vector", "cube"}) {
    parameters.emplace_back(name, fixture.tensor(std::string("start.") + name).requires_grad_());
  }
  AdafactorOptions options;
  options.scale_by_parameter = scaled;
  Adafactor optimizer({{parameters, 0.1, 1.0}}, options);
  for (std::int64_t step = 0; step < fixture.integer("steps"); ++step) {
    for (const auto& [name, parameter] : parameters) {
      parameter.mutable_grad() = fixture.tensor(concat("gradient.", step, ".", name));
    }
    optimizer.step(0.05);
  }
  for (const auto& [name, parameter] : parameters) {
    // Ten float32 updates of values around 1: a few units of 6e-8 each.
    EXPECT_LE(test::largest_difference(parameter.detach(), fixture.tensor("end." + name)), 2e-6) << name;
  }
}

TEST(Adafactor, EqualsTransformers) { expect_equal_to_transformers("training/adafactor", false); }

TEST(Adafactor, EqualsTransformersWithRelativeSteps) {
  expect_equal_to_transformers("training/adafactor_scaled", true);
}

TEST(Adafactor, KeepsVectorsForMatrices) {
  const at::Tensor matrix = torch::zeros({300, 200}).requires_grad_();
  const Adafactor optimizer({{{{"m", matrix}}, 0.0, 1.0}}, {});
  std::int64_t numbers = 0;
  for (const auto& [name, kept] : optimizer.state()) {
    numbers += kept.numel();
  }
  EXPECT_EQ(numbers, 500);
}

}  // namespace
}  // namespace weft::training
