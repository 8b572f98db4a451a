// SPDX-License-Identifier: Apache-2.0
// What every optimiser is to the trainer: groups of parameters, a step, and a state that goes into checkpoints. A new
// one derives from this and says what it keeps beside a parameter and how a group moves.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::training {

/// Parameters or moments by name, in a fixed order.
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// Parameters that are treated alike.
struct ParameterGroup {
  NamedTensors parameters;
  double weight_decay = 0.0;
  double rate_factor = 1.0;  ///< times the learning rate of a step
};

/// Holds the parameters and what an algorithm keeps beside each.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// One update by the gradients divided by `gradient_divisor`. Parameters without a gradient stay as they are.
  void step(double learning_rate, double gradient_divisor = 1.0);
  /// Drops the gradients: the next backward pass allocates them instead of adding to zeros.
  void clear_gradients();
  /// The Euclidean norm of all gradients together, in float32: a number where the gradients are, for which nobody waits
  /// yet. Undefined where there are none.
  at::Tensor gradient_norm() const;

  /// Updates so far: the t of the algorithms, from 1 in the first update.
  std::int64_t steps() const noexcept { return steps_; }
  /// What is kept beside each parameter, as "<kind>.<name>", in the parameters' dtype and device.
  NamedTensors state() const;
  /// Takes what state() gave. Errors: kFormat naming a tensor that is missing, surplus or of another shape.
  void load_state(const NamedTensors& state, std::int64_t steps);

 protected:
  /// A parameter with what is kept beside it, in the order that `fresh` gave.
  struct Slot {
    std::string name;
    at::Tensor parameter;
    NamedTensors state;
    const at::Tensor& kept(std::size_t which) const { return state[which].second; }
  };
  /// The slots of a group that have a gradient, and its settings.
  struct Part {
    std::vector<const Slot*> slots;
    double weight_decay;
    double learning_rate;
    double gradient_divisor;
  };

  /// `fresh` makes what is kept beside a parameter, before the first update.
  Optimizer(const std::vector<ParameterGroup>& groups, const std::function<NamedTensors(const at::Tensor&)>& fresh);
  /// Moves the parameters of `part`; steps() counts this update already. Runs without recording gradients.
  virtual void update(const Part& part) = 0;

 private:
  struct Group {
    std::vector<Slot> slots;
    double weight_decay;
    double rate_factor;
  };

  std::vector<Group> groups_;
  std::int64_t steps_ = 0;
};

}  // namespace weft::training
