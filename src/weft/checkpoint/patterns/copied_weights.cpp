// SPDX-License-Identifier: Apache-2.0
// Parameters by name.
#include "weft/checkpoint/patterns/copied_weights.h"

#include <c10/core/GradMode.h>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/layers/inference/int8_weight.h"

namespace weft::checkpoint {

const at::Tensor& found_weight(const at::Tensor* found, const std::string& name) {
  require(found != nullptr, "attention: the mechanism asked for has weights of its own, ", Quoted(name),
          ", which the model does not have; choose one without, or train a new model");
  return *found;
}

void copy_weights(const torch::nn::Module& from, torch::nn::Module& to) {
  const at::NoGradGuard without_gradients;
  layers::share_int8(from, to);
  const auto old = from.named_parameters();
  for (auto& parameter : to.named_parameters()) {
    parameter.value().copy_(found_weight(old.find(parameter.key()), parameter.key()));
  }
}

}  // namespace weft::checkpoint
