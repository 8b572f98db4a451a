// SPDX-License-Identifier: Apache-2.0
// AdamW (Loshchilov and Hutter 2019, algorithm 2) by LibTorch's fused kernel: one pass over parameters, gradients and
// moments.
#pragma once

#include <vector>

#include "weft/training/optimizers/optimizer.h"

namespace weft::training {

/// Constants of the update, which LAMB has as well; the learning rate comes with each step.
struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
};

/// m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2, w -= rate (m' / (sqrt(v') + epsilon) + decay w), with m' and v'
/// corrected for their start at zero. Keeps first_moment and second_moment.
class AdamW final : public Optimizer {
 public:
  AdamW(const std::vector<ParameterGroup>& groups, const AdamOptions& options);

 protected:
  void update(const Part& part) override;

 private:
  AdamOptions options_;
};

/// The two moments of AdamW and LAMB, zero.
NamedTensors fresh_moments(const at::Tensor& parameter);

}  // namespace weft::training
