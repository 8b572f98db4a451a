// SPDX-License-Identifier: Apache-2.0
// Gradients summed over all processes while the backward pass still runs: parameters are gathered in buckets, last ones
// first, and a bucket is on its way as soon as its gradients are there (Li et al. 2020, "PyTorch Distributed").
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/training/processes/process_group.h"

namespace weft::training {

/// Sums the gradients of some parameters. A parameter that has no gradient in any process has none afterwards either.
class GradientSum {
 public:
  /// `parameters` in the order in which a forward pass uses them, the same in every process. Installs a hook on each,
  /// which lives as long as the parameter and does nothing once this object is gone.
  GradientSum(std::vector<at::Tensor> parameters, ProcessGroup& group);
  ~GradientSum();
  GradientSum(const GradientSum&) = delete;
  GradientSum& operator=(const GradientSum&) = delete;

  /// The backward pass that follows is the last one before finish(): its gradients may leave.
  void arm();
  /// Sends what has not left yet, waits, and puts the sums in place of the gradients. Errors: as ProcessGroup.
  void finish();

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace weft::training
