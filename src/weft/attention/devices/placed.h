// SPDX-License-Identifier: Apache-2.0
// Tensors brought to where a module computes. A model's door does so with a batch, once for each call, so that whoever
// makes batches makes them on the CPU.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "weft/attention/devices/device_work.h"

namespace weft::attention {

/// Where a module's parameters are; the CPU for a module without any.
inline c10::Device device_of(const torch::nn::Module& module) {
  const std::vector<at::Tensor> parameters = module.parameters();
  return parameters.empty() ? c10::Device(c10::kCPU) : parameters.front().device();
}

/// `tensor` on `device`: itself where it is there, undefined where it is undefined; differentiable. What goes to a GPU
/// is not waited for, up to kMostPinnedBytes (pinned.h), and `tensor` may change as soon as the call returns. What is
/// larger, and what comes from a GPU, is waited for.
at::Tensor placed(const at::Tensor& tensor, c10::Device device);

}  // namespace weft::attention
