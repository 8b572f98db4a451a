// SPDX-License-Identifier: Apache-2.0
// Central differences at a step of 1e-5: their own error is about 1e-10 of the third derivative and 1e-11 of the value.
#include "support/torch_gradcheck.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

namespace weft::testing {
namespace {

constexpr double kStep = 1e-5;

double loss_at(const TensorFunction& function, const std::vector<at::Tensor>& inputs, const at::Tensor& weight) {
  const at::NoGradGuard no_grad;
  return (function(inputs) * weight).sum().item<double>();
}

// Changes one entry after another of a contiguous copy of inputs[which].
at::Tensor central_differences(const TensorFunction& function, std::vector<at::Tensor> inputs, std::size_t which,
                               const at::Tensor& weight) {
  inputs[which] = inputs[which].detach().clone(at::MemoryFormat::Contiguous);
  at::Tensor result = at::empty_like(inputs[which]);
  auto* entries = inputs[which].mutable_data_ptr<double>();
  for (std::int64_t at = 0; at < result.numel(); ++at) {
    const double kept = entries[at];
    entries[at] = kept + kStep;
    const double above = loss_at(function, inputs, weight);
    entries[at] = kept - kStep;
    const double below = loss_at(function, inputs, weight);
    entries[at] = kept;
    result.mutable_data_ptr<double>()[at] = (above - below) / (2 * kStep);
  }
  return result;
}

}  // namespace

void expect_gradients(const TensorFunction& function, const std::vector<at::Tensor>& inputs, double tolerance) {
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& input : inputs) {
    ASSERT_EQ(input.scalar_type(), at::kDouble);
    leaves.push_back(input.detach().requires_grad_());
  }
  const at::Tensor output = function(leaves);
  const at::Tensor weight = at::randn_like(output);
  const auto gradients = torch::autograd::grad({(output * weight).sum()}, leaves);
  for (std::size_t which = 0; which < inputs.size(); ++which) {
    const at::Tensor expected = central_differences(function, inputs, which, weight.detach());
    const at::Tensor excess = (gradients[which] - expected).abs() - tolerance * (1 + expected.abs());
    EXPECT_LE(excess.max().item<double>(), 0.0) << "input " << which << "\n" << gradients[which] << "\n" << expected;
  }
}

}  // namespace weft::testing
