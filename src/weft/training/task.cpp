// SPDX-License-Identifier: Apache-2.0
// What every task does with the leaves of a module.
#include "weft/training/task.h"

#include <cstdio>

#include <ATen/core/grad_mode.h>

namespace weft::training {

std::vector<std::pair<std::string, at::Tensor>> leaves_of(const torch::nn::Module& module) {
  std::vector<std::pair<std::string, at::Tensor>> leaves;
  for (const auto& parameter : module.named_parameters()) {
    leaves.emplace_back(parameter.key(), parameter.value());
  }
  return leaves;
}

void copy_leaves(const torch::nn::Module& source, torch::nn::Module& target) {
  const at::NoGradGuard no_grad;
  const auto values = source.named_parameters();
  for (auto& parameter : target.named_parameters()) {
    parameter.value().copy_(values[parameter.key()]);
  }
}

std::string fingerprint_text(std::uint64_t fingerprint) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(fingerprint));
  return text;
}

}  // namespace weft::training
