// SPDX-License-Identifier: Apache-2.0
// The classes of torch.nn that sentence-transformers puts behind a Dense and behind a cross-encoder's logit, by the
// names that its files give them, with each class's default arguments.
#pragma once

#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>

namespace weft::checkpoint {

struct TorchActivation {
  std::string_view name;                                  ///< of the class: "Sigmoid"
  at::Tensor (*of_vectors)(const at::Tensor&) = nullptr;  ///< any shape, with gradients; null: of no Dense
  /// Of one logit, in float64: two logits of 20 and 21 are the same score in float32. Increasing, so that the best
  /// logit has the best score; null: of no cross-encoder.
  double (*of_score)(double) = nullptr;
};

/// Null where the table has no class of that name.
const TorchActivation* find_torch_activation(std::string_view name) noexcept;

/// "torch.nn.modules.activation.Tanh" and so on.
std::string import_path(const TorchActivation& activation);

/// The activation of a Dense. Errors: kUnsupported naming `where`, the path and those that Weft has.
const TorchActivation& dense_activation(std::string_view path, std::string_view where);

/// That of a cross-encoder's score. Errors: kArgument naming `where`, the path and those that Weft has, also for
/// Softmax, which gives the only label of a pair the score 1.
const TorchActivation& score_activation(std::string_view path, std::string_view where);

}  // namespace weft::checkpoint
