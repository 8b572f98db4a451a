// SPDX-License-Identifier: Apache-2.0
// The layers of a model whose attention can be watched, under the names that profiles, pages and pruned patterns give
// them.
#pragma once

#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "weft/attention/mechanism.h"

namespace weft::tasks {

/// One attention of a layer.
struct ObservedLayer {
  /// Where the layer lies in the module tree, and what it attends to: "decoder.layers.3.cross"; "layers.3.self" where
  /// the model has one stack.
  std::string name;
  /// Its mechanism, and behind it the one for texts that are too short for that, where there is such a one.
  std::vector<const attention::AttentionImpl*> mechanisms;

  const attention::MechanismSite& site() const { return mechanisms.front()->site(); }
};

/// The layers of `model` in the order of its modules; they live as long as it does. Errors: kUnsupported where there
/// are none.
std::vector<ObservedLayer> observed_layers(const torch::nn::Module& model);

/// Why nobody who watches `model` would see anything; empty where a layer shows its attention.
std::string why_none_observed(const torch::nn::Module& model);

}  // namespace weft::tasks
