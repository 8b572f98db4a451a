// SPDX-License-Identifier: Apache-2.0
// AdamW (Loshchilov and Hutter 2019, algorithm 2) by LibTorch's fused kernel: one pass over parameters, gradients and
// moments.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::training {

/// Parameters or moments by name, in a fixed order.
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// Constants of the update; the learning rate comes with each step.
struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
};

/// Whether weight decay acts on a parameter: matrices do decay; norms, biases and embeddings (a name with "embed") do
/// not.
bool decays(const std::string& name, const at::Tensor& parameter);

/// m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2, w -= rate (m' / (sqrt(v') + epsilon) + decay w), with m' and v'
/// corrected for their start at zero. Moments have the parameters' dtype and device.
class AdamW {
 public:
  AdamW(const NamedTensors& parameters, const AdamWOptions& options);

  /// One update by the gradients divided by `gradient_divisor`. Parameters without a gradient stay as they are.
  void step(double learning_rate, double gradient_divisor = 1.0);
  /// Drops the gradients: the next backward pass allocates them instead of adding to zeros.
  void clear_gradients();
  /// The Euclidean norm of all gradients together, in float32.
  double gradient_norm() const;

  /// Updates so far: the t of the corrections.
  std::int64_t steps() const noexcept { return steps_; }
  /// The moments, as "first_moment.<name>" and "second_moment.<name>".
  NamedTensors state() const;
  /// Takes moments that state() gave. Errors: kFormat naming a moment that is missing, surplus or of another shape.
  void load_state(const NamedTensors& state, std::int64_t steps);

 private:
  struct Slot {
    std::string name;
    at::Tensor parameter;
    at::Tensor first;
    at::Tensor second;
  };
  void update(const std::vector<Slot>& group, double weight_decay, double learning_rate, const at::Tensor& divisor);
  std::vector<const std::vector<Slot>*> groups() const { return {&decaying_, &constant_}; }

  AdamWOptions options_;
  std::vector<Slot> decaying_;
  std::vector<Slot> constant_;
  std::int64_t steps_ = 0;
};

}  // namespace weft::training
